/* test_team.c - sc_parallel from several callers at once, at sizes around every limit, in a forked child, and on the threads
 * of a lender. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
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

/* ---- a lender ---- */

enum { MEMBERS = 3 };
static sc_lender_state lender_state;
static int looks, regions, members = MEMBERS;
static _Thread_local bool lent;

static struct { /* a region of the lender's: its threads wait for `serial` to change, and raise `came` when they are done */
    void (*function)(void *arg, int worker);
    void *arg;
    _Atomic int serial, came;
    _Atomic bool over;
} work;

static sc_lender_state look(void) {
    looks++;
    return lender_state;
}

static void be_member(int worker) {
    uint64_t mode = sc_fp_mode();
    lent = true;
    if (worker < members) work.function(work.arg, worker);
    lent = false;
    require(sc_fp_mode() == mode, "a lent thread keeps its floating point mode");
}

static void *be_lent(void *worker) {
    for (int serial = 0; !work.over; sched_yield()) {
        if (work.serial == serial) continue;
        serial = work.serial;
        be_member((int)(intptr_t)worker);
        work.came++;
    }
    return NULL;
}

static int run_members(void (*function)(void *, int), void *arg) {
    regions++;
    work.function = function, work.arg = arg, work.came = 0;
    work.serial++;
    be_member(0);
    while (work.came < MEMBERS - 1) sched_yield();
    return members;
}

static void count_lent(void *arg, int64_t begin, int64_t end, int worker) {
    int *pieces = arg; /* by worker */
    if (worker == 0) usleep(100);
    if (lent && worker < MEMBERS) pieces[worker] += (int)(end - begin);
}

static void use_lender(void) {
    static const sc_lender lender = {look, run_members};
    sc_team *team = sc_team_new();
    pthread_t threads[MEMBERS];
    for (intptr_t i = 1; i < MEMBERS; i++) require(!pthread_create(&threads[i], NULL, be_lent, (void *)i), "pthread_create");
    sc_team_borrow(team, &lender);
    lender_state = SC_ASLEEP;
    use(team);
    require(looks > 0 && regions == 0, "a lender that sleeps is left alone");
    lender_state = SC_UNKNOWN;
    use(team);
    lender_state = SC_AWAKE;
    sc_ctx cx = {.team = team, .num_threads = MEMBERS};
    int pieces[MEMBERS] = {0};
    for (int tries = 0; tries < 100000 && !(pieces[1] && pieces[2]); tries++) sc_parallel(&cx, 12, 1, 1e9, count_lent, pieces);
    require(pieces[1] && pieces[2], "a lender's threads do pieces");
    for (members = 0; members++ < MEMBERS;) use(team); /* also fewer than the team was measured with, and fewer than asked for */
    work.over = true;
    for (int i = 1; i < MEMBERS; i++) pthread_join(threads[i], NULL);
    sc_team_free(team);
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
    use_lender();
    sc_team_free(team);
    sc_team_free(sc_team_new());
    puts("ok");
    return 0;
}
