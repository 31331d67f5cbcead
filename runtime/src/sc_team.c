/* sc_team.c - the threads behind sc_parallel.
 *
 * A region is one piece of shared work. Its word holds a serial number, whether it is open, and how many helpers are in it;
 * a helper enters by raising that number while the region is open, so the caller waits for those that came, never for
 * one that sleeps or was not given a core. Everything else about a region is written before it opens and read by those
 * who entered. The pieces are dealt out in one run for each worker, the same at each call of the same shape: what a piece
 * reads stays in that core's cache. Who is done takes pieces of the others. */
#include "../include/sc_team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../include/sc_fp.h"

enum {
    SPIN_NS = 50000,  /* how long a helper waits awake: longer than waking it takes */
    MEET_NS = 200000, /* how long workers wait for each other where the cost of a region is measured */
    PAYS = 4,         /* work is shared when it takes so many times what sharing costs, ... */
    WORTH_WAKING = 8, /* ... and sleepers are woken for many small pieces when those took so many times what waking costs */
    TRIALS = 12,      /* of each cost, when it is measured; the least counts, but no less than ... */
    LEAST_OPEN_NS = 500,
    LEAST_WAKE_NS = 5000,
    CREDIT_NS = 2000000, /* what sharing has saved lately, at most so much, may be lost again */
    PAUSE = 20,          /* who lost more does without helpers for so many times the loss: never 5 % slower than alone */
};
#define OPEN ((uint64_t)1 << 15)
#define ENTERED (OPEN - 1)
#define SERIAL ((uint64_t)1 << 16)

typedef struct share { /* pieces of one worker */
    _Alignas(64) _Atomic int64_t next;
    int64_t end;
} share;

typedef struct helper {
    sc_team *team;
    pthread_t thread;
} helper;

struct sc_team {
    _Alignas(64) _Atomic uint64_t region;
    _Alignas(64) _Atomic int sleeping;
    _Atomic bool stop, busy;
    _Atomic long owner; /* process that the helpers run in; 0: a child is starting over */
    void *(*help)(void *); /* what helpers run: of the library that made the team, as those that share it may be unloaded */
    bool failed;        /* no thread could be made: do not try again */
    bool measured;      /* what a region costs with so many helpers */
    int helpers;
    double credit, resume; /* see PAUSE; resume: when helpers are used again */
    _Atomic double open_ns; /* a region takes until all were in it, when helpers are awake, ... */
    double wake_ns;         /* ... and when they sleep */
    sc_work *work;
    void *arg;
    int64_t count, grain;
    int parts;
    uint64_t fp;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    share shares[SC_TEAM_MAX];
    helper helper[SC_TEAM_MAX]; /* [0] stands for the caller */
};

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- pieces ---- */

static int64_t do_pieces(sc_team *t, int worker) {
    int64_t done = 0;
    for (int i = 0; i < t->parts; i++) {
        share *s = &t->shares[(worker + i) % t->parts];
        for (;;) {
            int64_t piece = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
            if (piece >= s->end) break;
            int64_t begin = piece * t->grain, end = begin + t->grain;
            t->work(t->arg, begin, end < t->count ? end : t->count, worker);
            done++;
        }
    }
    return done;
}

/* ---- helpers ---- */

static bool enter(sc_team *t, uint64_t seen) {
    return atomic_compare_exchange_strong_explicit(&t->region, &seen, seen + 1, memory_order_acquire, memory_order_relaxed);
}

/* Waits until the region's word changes from `old`: awake for a while, then asleep. */
static uint64_t await_region(sc_team *t, uint64_t old) {
    double until = 0;
    for (int round = 0;; round++) {
        uint64_t word = atomic_load_explicit(&t->region, memory_order_relaxed);
        if (word != old || atomic_load_explicit(&t->stop, memory_order_relaxed)) return word;
        relax();
        if (round % 64) continue;
        double now = now_ns();
        if (until == 0) until = now + SPIN_NS;
        if (now > until) break;
    }
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->sleeping, 1);
    while (atomic_load(&t->region) == old && !atomic_load(&t->stop)) pthread_cond_wait(&t->wake, &t->lock);
    atomic_fetch_sub(&t->sleeping, 1);
    pthread_mutex_unlock(&t->lock);
    return atomic_load(&t->region);
}

static void *help(void *arg) {
    const helper *self = arg;
    sc_team *t = self->team;
    int worker = (int)(self - t->helper);
    uint64_t word = 0, done = 0; /* done: serial number of the last region that this helper was in */
    while (!atomic_load(&t->stop)) {
        bool fresh = word & OPEN && word / SERIAL != done;
        if (!fresh) {
            word = await_region(t, word);
            continue;
        }
        if (!enter(t, word)) { /* somebody else came or went */
            word = atomic_load_explicit(&t->region, memory_order_relaxed);
            continue;
        }
        done = word / SERIAL;
        sc_fp_set(t->fp);
        if (worker < t->parts) do_pieces(t, worker);
        word = atomic_fetch_sub_explicit(&t->region, 1, memory_order_release) - 1;
    }
    return NULL;
}

/* ---- regions ---- */

/* Returns how much sooner all was done than by the caller alone, judging from the pieces that it did; below 0: later, most
 * often because a helper lost its core in the middle of a piece. */
static double run_region(sc_team *t, int64_t count, int64_t grain, int threads, sc_work *work, void *arg) {
    int64_t pieces = (count + grain - 1) / grain;
    t->parts = threads < pieces ? threads : (int)pieces;
    t->work = work, t->arg = arg, t->count = count, t->grain = grain, t->fp = sc_fp_mode();
    for (int i = 0; i < t->parts; i++) {
        atomic_store_explicit(&t->shares[i].next, pieces * i / t->parts, memory_order_relaxed);
        t->shares[i].end = pieces * (i + 1) / t->parts;
    }
    double start = now_ns();
    uint64_t word = atomic_load_explicit(&t->region, memory_order_relaxed);
    atomic_store(&t->region, (word / SERIAL + 1) * SERIAL | OPEN); /* ordered with `sleeping`, as await_region's */
    if (atomic_load(&t->sleeping)) {
        pthread_mutex_lock(&t->lock);
        pthread_cond_broadcast(&t->wake);
        pthread_mutex_unlock(&t->lock);
    }
    double begun = now_ns();
    int64_t done = do_pieces(t, 0);
    double worked = now_ns() - begun;
    atomic_fetch_and_explicit(&t->region, ~OPEN, memory_order_relaxed);
    for (int round = 1; atomic_load_explicit(&t->region, memory_order_acquire) & ENTERED; round++)
        if (round % 1024) relax();
        else sched_yield();
    return (done ? worked / (double)done * (double)pieces : worked) - (now_ns() - start);
}

/* A piece that waits for the others to be begun, as many as came to `met`: then every helper was in the region. */
static void meet(void *arg, int64_t begin, int64_t end, int worker) {
    (void)begin, (void)end, (void)worker;
    _Atomic int64_t *met = arg;
    double limit = now_ns() + MEET_NS; /* a helper that gets no core is not waited for */
    atomic_fetch_sub(met, 1);
    while (atomic_load(met) > 0 && now_ns() < limit) relax();
}

/* Includes the way of the shared lines from core to core and back, and until sleepers have a core again. 0: some helper got no
 * core meanwhile, which says nothing of the cost. */
static double cost_of_region(sc_team *t, bool asleep, double at_least) {
    double least = 1e6;
    for (int i = 0; i < TRIALS; i++) {
        double limit = now_ns() + 20.0 * SPIN_NS; /* helpers without a core may never get to sleep */
        while (asleep && atomic_load(&t->sleeping) < t->helpers && now_ns() < limit) sched_yield();
        int workers = t->helpers + 1;
        _Atomic int64_t met = workers;
        double start = now_ns();
        run_region(t, workers, 1, workers, meet, &met);
        double took = now_ns() - start;
        if (took >= MEET_NS) return 0;
        if (took < least) least = took;
    }
    return least > at_least ? least : at_least;
}

/* ---- the team ---- */

static void reset(sc_team *t) {
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    atomic_store(&t->region, 0);
    atomic_store(&t->sleeping, 0);
    atomic_store(&t->stop, false);
    t->helpers = 0;
    t->failed = t->measured = false;
    t->credit = CREDIT_NS, t->resume = 0;
    atomic_store(&t->open_ns, 1000);
    t->wake_ns = 10000; /* until they are measured */
    atomic_store(&t->busy, false);
}

sc_team *sc_team_new(void) {
    sc_team *t = aligned_alloc(64, (sizeof *t + 63) / 64 * 64);
    if (!t) return NULL;
    memset(t, 0, sizeof *t);
    t->help = help;
    reset(t);
    atomic_store(&t->owner, (long)getpid());
    return t;
}

/* Starts helpers until there are `wanted`. Signals are for the process's own threads. */
static void grow(sc_team *t, int wanted) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int before = t->helpers;
    while (t->helpers < wanted && !t->failed) {
        helper *h = &t->helper[t->helpers + 1];
        h->team = t;
        if (pthread_create(&h->thread, NULL, t->help, h)) t->failed = true;
        else t->helpers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (t->helpers > before) t->measured = false;
}

/* Where it fails, it is tried again at the next region, and what that took counts as lost. */
static void measure(sc_team *t) {
    double start = now_ns(), open = cost_of_region(t, false, LEAST_OPEN_NS), wake = open > 0 ? cost_of_region(t, true, LEAST_WAKE_NS) : 0;
    t->measured = wake > 0;
    if (t->measured) {
        atomic_store_explicit(&t->open_ns, open, memory_order_relaxed);
        t->wake_ns = wake;
    } else t->credit -= now_ns() - start;
}

void sc_team_free(sc_team *t) {
    if (!t) return;
    if (atomic_load(&t->owner) == (long)getpid()) {
        pthread_mutex_lock(&t->lock);
        atomic_store(&t->stop, true);
        pthread_cond_broadcast(&t->wake);
        pthread_mutex_unlock(&t->lock);
        while (t->helpers) pthread_join(t->helper[t->helpers--].thread, NULL);
        pthread_mutex_destroy(&t->lock);
        pthread_cond_destroy(&t->wake);
    }
    free(t);
}

/* In a child of the process that started the helpers there are none. False while another thread is seeing to that. */
static bool is_ours(sc_team *t) {
    long me = (long)getpid(), owner = atomic_load(&t->owner);
    if (owner == me) return true;
    if (owner == 0 || !atomic_compare_exchange_strong(&t->owner, &owner, 0)) return false;
    reset(t);
    atomic_store(&t->owner, me);
    return true;
}

/* Whether sharing pays, asked by who has the team, of work worth a region of helpers awake. Sleepers are woken for one long
 * piece of work, or when many short ones have come. */
static bool pays(sc_ctx *cx, double ns) {
    const sc_team *t = cx->team;
    if (t->resume > 0 && now_ns() < t->resume) return false;
    if (t->helpers && !atomic_load_explicit(&t->sleeping, memory_order_relaxed)) return true;
    if (ns >= PAYS * t->wake_ns) return true;
    cx->unhelped += ns;
    if (cx->unhelped < WORTH_WAKING * t->wake_ns) return false;
    cx->unhelped = 0;
    return true;
}

/* False where the work had better be done alone. */
static bool share_work(sc_ctx *cx, int64_t count, int64_t grain, double ns, sc_work *work, void *arg) {
    sc_team *t = cx->team;
    if (!is_ours(t) || atomic_exchange(&t->busy, true)) return false;
    int threads = sc_workers(cx);
    bool shared = pays(cx, ns);
    if (shared && t->helpers + 1 < threads) grow(t, threads - 1);
    shared = shared && t->helpers > 0;
    if (shared && !t->measured) measure(t);
    if (shared) {
        double saved = run_region(t, count, grain, threads < t->helpers + 1 ? threads : t->helpers + 1, work, arg);
        t->credit += saved < ns ? saved : ns; /* the caller itself may have lost its core */
        t->resume = t->credit < 0 ? now_ns() - PAUSE * t->credit : 0;
        t->credit = t->credit < 0 ? 0 : t->credit > CREDIT_NS ? CREDIT_NS : t->credit;
    }
    atomic_store(&t->busy, false);
    return shared;
}

void sc_parallel(sc_ctx *cx, int64_t count, int64_t grain, double ns, sc_work *work, void *arg) {
    bool several = count > grain && ns >= PAYS * LEAST_OPEN_NS && sc_workers(cx) > 1;
    /* asked first: to look whose the team is takes a system call */
    bool large = several && ns >= PAYS * atomic_load_explicit(&cx->team->open_ns, memory_order_relaxed);
    if (large && share_work(cx, count, grain, ns, work, arg)) return;
    if (count > 0) work(arg, 0, count, 0);
}
