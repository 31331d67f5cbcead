/* test_openmp.c - the OpenMP runtime's threads as a team borrows them (runtime/src/bridge/openmp.c). */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void mark(void *arg, int worker) {
    require(arg == came && worker >= 0 && worker < MOST, "the argument and a valid worker");
    came[worker]++;
}

static void run_once(void) {
    memset(came, 0, sizeof came);
    int members = lender->run(mark, came);
    require(members == expected, "all threads that OpenMP gives");
    for (int i = 0; i < MOST; i++) require(came[i] == (i < members), "each worker once");
}

static bool comes_to(sc_lender_state wanted, bool run) {
    for (int tries = 0; tries < 2000; tries++) { /* a thread that has no core at the moment of the look seems to be asleep */
        if (run) run_once();
        else usleep(5000);
        for (int look = 0; look < (run ? 1000 : 1); look++)
            if (lender->state() == wanted) return true;
    }
    return false;
}

static void *use(void *arg) {
    (void)arg;
    omp_set_num_threads(expected);
    require(lender->state() == SC_UNKNOWN, "the team of a new thread is unknown");
    run_once();
    if (expected == 1) {
        require(lender->state() == SC_UNKNOWN, "a team of one has nobody to look at");
    } else {
        require(comes_to(SC_AWAKE, true), "awake behind a region");
        require(comes_to(SC_ASLEEP, false), "asleep a while later");
        int nested = 0;
#pragma omp parallel num_threads(2) reduction(+ : nested)
        {
            nested += lender->state() == SC_ASLEEP;
        }
        require(nested == 2, "within a region there is nobody to borrow");
    }
    return NULL;
}

int main(int argc, char **argv) {
    expected = argc > 1 ? atoi(argv[1]) : 3;
    narrow = argc > 2;
    lender = openmp_lender();
    require(lender, "the runtime is found");
    if (narrow) {
        omp_set_num_threads(expected);
        for (int i = 0; i < 20; i++) {
            run_once();
            require(lender->state() == SC_ASLEEP, "threads with small stacks are not borrowed");
        }
        puts("ok");
        return 0;
    }
    use(NULL);
    pthread_t other;
    require(!pthread_create(&other, NULL, use, NULL), "pthread_create");
    pthread_join(other, NULL);
    puts("ok");
    return 0;
}
