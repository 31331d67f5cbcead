/* test_team.c - sc_parallel from several callers at once, at sizes around every limit, and in a forked child. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../runtime/include/sc_fp.h"
#include "../../runtime/include/sc_team.h"

enum { ROUNDS = 300, CALLERS = 3, MOST = 500 };

typedef struct job {
    int32_t seen[MOST];
    int64_t grain;
    bool cut, flushed;
} job;

static void mark(void *arg, int64_t begin, int64_t end, int worker) {
    job *j = arg;
    if (begin % j->grain || worker < 0 || worker >= SC_TEAM_MAX) j->cut = true;
    for (int64_t i = begin; i < end; i++) {
        j->seen[i] += 1 + (sc_fp_mode() & SC_FP_FLUSH ? 1000 : 0);
        for (volatile int k = 0; k < 50; k++) {}
    }
}

static void require(bool ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "failed: %s\n", what);
        exit(1);
    }
}

static void *use(void *team) {
    static const int64_t counts[] = {0, 1, 2, 7, 64, 65, MOST}, grains[] = {1, 3, 64};
    static _Thread_local job j;
    sc_ctx cx = {.team = team};
    for (int round = 0; round < ROUNDS; round++) {
        int64_t count = counts[round % 7];
        uint64_t mode = sc_fp_mode(), flush = round % 2 ? SC_FP_FLUSH : 0;
        j = (job){.grain = grains[round % 3]};
        cx.num_threads = 1 + round % 5;
        sc_fp_set(mode | flush);
        sc_parallel(&cx, count, j.grain, round % 4 ? 1e9 : 1000, mark, &j);
        sc_fp_set(mode);
        for (int64_t i = 0; i < MOST; i++) require(j.seen[i] == (i < count ? (flush ? 1001 : 1) : 0), "each once, in the caller's mode");
        require(!j.cut, "cut at multiples of grain, by a valid worker");
        if (round % 50 == 0) usleep(300); /* helpers go to sleep */
    }
    return NULL;
}

static void linger(void *arg, int64_t begin, int64_t end, int worker) {
    int *pieces = arg; /* by worker */
    if (worker == 0) usleep(100); /* so that helpers come in time */
    pieces[worker] += (int)(end - begin);
}

static void require_helpers(sc_team *team) {
    sc_ctx cx = {.team = team, .num_threads = 3};
    int pieces[3] = {0}, tries = 0;
    for (; tries < 20000 && !(pieces[1] && pieces[2]); tries++) /* seconds, where others have the cores */
        sc_parallel(&cx, 12, 1, 1e9, linger, pieces);
    require(pieces[1] && pieces[2], "helpers come");
    require(pieces[0] + pieces[1] + pieces[2] == 12 * tries, "all pieces");
}

int main(int argc, char **argv) {
    (void)argv;
    sc_team *team = sc_team_new();
    pthread_t callers[CALLERS];
    for (int i = 0; i < CALLERS; i++) require(!pthread_create(&callers[i], NULL, use, team), "pthread_create");
    for (int i = 0; i < CALLERS; i++) pthread_join(callers[i], NULL);
    if (argc > 1) { /* fork: not under ThreadSanitizer, which refuses threads in the child of a process with threads */
        pid_t child = fork();
        if (child == 0) {
            use(team);
            sc_team_free(team);
            _exit(0);
        }
        int status;
        require(waitpid(child, &status, 0) == child && status == 0, "the child");
    }
    use(team);
    require_helpers(team);
    sc_team_free(team);
    sc_team_free(sc_team_new());
    puts("ok");
    return 0;
}
