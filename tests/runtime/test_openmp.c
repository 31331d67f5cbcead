/* test_openmp.c - the OpenMP runtime's threads as a team borrows them (runtime/src/bridge/openmp.c). */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../runtime/include/sc_fp.h"
#include "../../runtime/src/bridge/bridge.h"

enum { MOST = 64 };
static _Atomic int came[MOST];
static const sc_lender *lender;
static int expected; /* size of a team */
static bool narrow;

size_t sc_bridge_stack_left(void) { return narrow ? 1000 : 1 << 20; } /* in place of the bridge's */

static void require(bool ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "failed: %s\n", what);
        exit(1);
    }
}

static uint64_t callers_mode;

static void mark(void *arg, int worker) {
    require(arg == came && worker >= 0 && worker < MOST, "the argument and a valid worker");
    require(sc_fp_mode() == callers_mode, "threads do not begin in the mode of a call that flushes denormals");
    came[worker]++;
}

static void run_once(void) {
    memset(came, 0, sizeof came);
    callers_mode = sc_fp_mode();
    openmp_start_in(callers_mode);
    sc_fp_set(callers_mode | SC_FP_FLUSH);
    int members = lender->run(mark, came);
    require(sc_fp_mode() == (callers_mode | SC_FP_FLUSH), "the call goes on in its own mode");
    sc_fp_set(callers_mode);
    require(members == expected, "all threads that OpenMP gives");
    for (int i = 0; i < MOST; i++) require(came[i] == (i < members), "each worker once");
}

/* A thread that has no core at the moment of the look seems to be asleep, so one look is not enough. */
static bool comes_to(sc_lender_state wanted) {
    time_t limit = time(NULL) + 100;
    while (lender->state() != wanted && time(NULL) < limit) {}
    return time(NULL) < limit;
}

static void *use(void *awake) {
    omp_set_num_threads(expected + 1);
    require(openmp_threads() == expected + 1, "the number of threads is that of the running thread");
    omp_set_num_threads(expected);
    require(openmp_threads() == expected, "the number of threads can change");
    require(lender->state() == SC_UNKNOWN, "the team of a new thread is unknown");
    run_once();
    if (expected == 1) {
        require(lender->state() == SC_UNKNOWN, "a team of one has nobody to look at");
        return NULL;
    }
    require(lender->state() != SC_UNKNOWN, "the team is known");
    require(comes_to(awake ? SC_AWAKE : SC_ASLEEP), awake ? "awake behind a region" : "asleep behind a region");
    int nested = 0;
#pragma omp parallel reduction(+ : nested)
    nested += lender->state() == SC_ASLEEP;
    require(nested == expected, "within a region there is nobody to borrow");
    return NULL;
}

static void *use_narrow(void *unused) {
    (void)unused;
    omp_set_num_threads(expected);
    for (int i = 0; i < 20; i++) {
        run_once();
        require(lender->state() == SC_ASLEEP, "threads with small stacks are not borrowed");
    }
    return NULL;
}

/* The size of a team; then "asleep", "awake" (OMP_WAIT_POLICY says which it is behind a region), or "narrow". */
int main(int argc, char **argv) {
    require(argc == 3, "arguments");
    expected = atoi(argv[1]);
    bool awake = !strcmp(argv[2], "awake");
    narrow = !strcmp(argv[2], "narrow");
    require(openmp_threads() == 0, "without a lender, nobody is asked");
    lender = openmp_lender();
    require(lender, "the runtime is found");
    void *(*test)(void *) = narrow ? use_narrow : use;
    test(awake ? &awake : NULL);
    if (!awake) { /* more threads than cores would not wait awake */
        pthread_t other;
        require(!pthread_create(&other, NULL, test, NULL), "pthread_create");
        pthread_join(other, NULL);
    }
    puts("ok");
    return 0;
}
