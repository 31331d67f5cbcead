/* sc_team.h - work shared between threads: a team of helpers, and sc_parallel, through which all kernels and generated
 * loops use it.
 *
 * A team belongs to a process or to a loaded model, and serves one caller at a time; others meanwhile work alone. Helpers
 * start when they are first worth it, spin for a moment after each piece of work, then sleep. After fork() the child
 * starts helpers of its own. Where a process has another runtime whose threads spin between its regions, the team borrows
 * them while they are awake. */
#ifndef SC_TEAM_H
#define SC_TEAM_H
#include "sc.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(hidden)

#define SC_TEAM_MAX 64 /* threads, the caller included */

/* Do the part begin..end of some work. `worker` is below SC_TEAM_MAX, and no other running thread has the same
 * number. */
typedef void sc_work(void *arg, int64_t begin, int64_t end, int worker);

typedef struct sc_team sc_team;
sc_team *sc_team_new(void);       /* without helpers yet; NULL: out of memory */
void sc_team_free(sc_team *team); /* ends the helpers; NULL is allowed */

typedef enum sc_lender_state { SC_UNKNOWN, SC_ASLEEP, SC_AWAKE } sc_lender_state;

/* The threads of another runtime, such as OpenMP's. Each thread of a program has a team of them for itself. */
typedef struct sc_lender {
    /* Return what the team of the calling thread does now. Unknown: `run` was never called on this thread, or the team
     * has changed. */
    sc_lender_state (*state)(void);
    /* Call member(arg, worker) once on each thread of the team, on the calling one with worker 0. Return the number of
     * threads when all calls have returned. Synchronizes like starting and joining threads. */
    int (*run)(void (*member)(void *arg, int worker), void *arg);
} sc_lender;
void sc_team_borrow(sc_team *team, const sc_lender *lender); /* before the first call */

/* Do the parts of 0..count, cut at multiples of grain, on at most cx->num_threads threads, and return when all are
 * done. The results of the work must not depend on the cuts, so that they do not depend on the number of threads. ns:
 * an estimate of the time of one thread; short work is not shared. The work must not use cx. */
void sc_parallel(sc_ctx *cx, int64_t count, int64_t grain, double ns, sc_work *work, void *arg);

/* For such estimates: the bytes that one thread reads and writes in a nanosecond, in its own cache and in memory. */
#define SC_CACHED_BYTES_PER_NS 96.0
#define SC_BYTES_PER_NS 16.0

/* Return the most workers that sc_parallel may use, for scratch memory by worker. */
static inline int sc_workers(const sc_ctx *cx) {
    int n = cx->team ? cx->num_threads : 1;
    return n < SC_TEAM_MAX ? n : SC_TEAM_MAX;
}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
