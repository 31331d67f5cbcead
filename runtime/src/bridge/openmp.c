/* openmp.c - lends a team the threads of the OpenMP runtime that torch runs on.
 *
 * After each parallel operator of torch these threads spin for some milliseconds, which leaves little of their core to
 * a thread of ours. The runtime is found by name in the process: the bridge is linked to none. All runtimes that torch
 * is built with (GNU's, LLVM's, Intel's) have GNU's entry point. A region always asks for all threads that torch asks
 * for, because GNU's runtime ends and starts threads when that number changes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include "bridge.h"
#include "sc_fp.h"

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#if defined(__linux__)

#define STACK_ROOM ((size_t)256 * 1024) /* bytes of stack that work may need; OMP_STACKSIZE may give less */

static struct {
    void (*parallel)(void (*function)(void *), void *data, unsigned threads, unsigned flags);
    int (*thread_number)(void), (*count_threads)(void), (*in_parallel)(void), (*most_threads)(void);
} openmp;

/* The first other thread of the last team. It stands for the team, whose threads fall asleep at about the same time. */
static _Thread_local struct {
    bool known, narrow; /* narrow: the stack of some thread is too small */
    clockid_t clock;
} mate;

typedef struct job {
    void (*member)(void *arg, int worker);
    void *arg;
    int members;
    bool known, narrow; /* these and `clock` are written by member 1 alone, since all stacks of a team have one size */
    clockid_t clock;
} job;

static void introduce(job *j)
{
    static _Thread_local struct { bool known, narrow; clockid_t clock; } self;
    if (!self.known) {
        self.narrow = sc_bridge_stack_left() < STACK_ROOM;
        self.known = pthread_getcpuclockid(pthread_self(), &self.clock) == 0;
    }
    j->known = self.known, j->narrow = self.narrow, j->clock = self.clock;
}

static void take_part(void *data)
{
    job *j = data;
    int worker = openmp.thread_number();
    if (worker == 0)
        j->members = openmp.count_threads();
    if (worker == 1)
        introduce(j);
    j->member(j->arg, worker);
}

static _Thread_local uint64_t callers_mode;

void openmp_start_in(uint64_t mode) { callers_mode = mode; }

/* A thread that starts now has the floating point mode of this one ever after, in operators of torch, too. So the mode of
 * the call is set aside; members that need it set it. */
static int run(void (*member)(void *arg, int worker), void *arg)
{
    job j = {.member = member, .arg = arg};
    uint64_t mode = sc_fp_mode();
    sc_fp_set(callers_mode);
    openmp.parallel(take_part, &j, 0, 0);
    sc_fp_set(mode);
    mate.known = j.known, mate.narrow = j.narrow, mate.clock = j.clock;
    return j.members;
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) ? -1 : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Return whether the threads of a team are awake. A thread is awake if its CPU time changes between two reads, since a
 * read takes longer than the clock's unit. */
static sc_lender_state state(void)
{
    if (openmp.in_parallel() || (mate.known && mate.narrow))
        return SC_ASLEEP; /* a nested region would have one thread */
    double before = mate.known ? seconds_of(mate.clock) : -1, after = before >= 0 ? seconds_of(mate.clock) : -1;
    if (after < 0) { /* the thread has ended */
        mate.known = false;
        return SC_UNKNOWN;
    }
    return after > before ? SC_AWAKE : SC_ASLEEP;
}

/* Look a function up as the dynamic linker does for torch: in global libraries, then in torch's. */
static bool find(void *function, const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found) {
        void *torch = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
        found = torch ? dlsym(torch, name) : NULL;
        if (torch)
            dlclose(torch);
    }
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

const sc_lender *openmp_lender(void)
{
    static const sc_lender lender = {state, run};
    return find(&openmp.parallel, "GOMP_parallel") && find(&openmp.thread_number, "omp_get_thread_num") &&
           find(&openmp.count_threads, "omp_get_num_threads") && find(&openmp.in_parallel, "omp_in_parallel") &&
                   find(&openmp.most_threads, "omp_get_max_threads")
               ? &lender
               : NULL;
}

int openmp_threads(void) { return openmp.most_threads ? openmp.most_threads() : 0; }

#else

void openmp_start_in(uint64_t mode) { (void)mode; }

const sc_lender *openmp_lender(void) { return NULL; }

int openmp_threads(void) { return 0; }

#endif
