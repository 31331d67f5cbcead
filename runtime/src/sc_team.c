/* sc_team.c - the threads that sc_parallel shares work with.
 *
 * A region is one piece of shared work. Its word holds a serial number, whether it is open, and how many helpers are in it;
 * a helper enters by raising that number while the region is open, so the caller waits for those that came, never for
 * one that sleeps or was not given a core. Everything else about a region is written before it opens and read by those
 * who entered. The pieces are dealt out in one run for each worker, the same at each call of the same shape: what a piece
 * reads stays in that core's cache. Who is done takes pieces of the others.
 *
 * Another runtime's threads may spin on the cores that helpers need (sc_lender): then a region is one of that runtime, and its
 * threads do the pieces. Its regions end only when all of its threads came, so sleepers are never asked: waking them can take
 * a slice of the scheduler's, while helpers that come late cost nothing. */
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
    MEET_NS = 200000, /* how long workers wait for each other while the cost of a region is measured */
    PAYS = 4,         /* work is shared when it takes so many times what sharing costs, ... */
    WORTH_WAKING = 8, /* ... and sleepers are woken for many small pieces when those took so many times what waking costs */
    TRIALS = 12,      /* of each cost, when it is measured; the least counts, but no less than ... */
    LEAST_OPEN_NS = 500,
    LEAST_WAKE_NS = 5000,
    CREDIT_NS = 2000000, /* what sharing has saved lately, at most so much, may be lost again */
    PAUSE = 20,          /* who lost more does without helpers for so many times the loss: never 5 % slower than alone */
    FRESH_NS = 20000,    /* for so long after a region its workers are assumed awake or asleep, as they were */
    /* after so many regions in a row that saved next to nothing, other processes have the cores, ... */
    FRUITLESS = 3,
    GAIN = 8,            /* ... where next to nothing is less than one part in so many of their time */
};
#define OPEN ((uint64_t)1 << 15)
#define ENTERED (OPEN - 1)
#define SERIAL ((uint64_t)1 << 16)

typedef struct share { /* pieces of one worker */
    _Alignas(64) _Atomic int64_t next;
    int64_t end;
} share;

typedef struct account { /* what sharing saved and lost, in nanoseconds; see PAUSE */
    double credit, resume; /* resume: when work is shared again */
} account;

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
    account own, lent;      /* of regions of helpers, and of the lender's threads */
    _Atomic double open_ns; /* time until all helpers are in a region, if they are awake, ... */
    double wake_ns;         /* ... and if they sleep */
    const sc_lender *lender; /* NULL: none, or this is a forked child, where the lender's threads are dead */
    bool borrows;            /* the lender's threads were awake at the last look of `looker` */
    pthread_t looker;        /* each thread of the program has a team of the lender's for itself */
    int members;             /* of the lender's team when `lent_ns` was measured; 0: not measured */
    int fruitless;           /* see FRUITLESS */
    double lent_ns;          /* time until all the lender's threads are in a region */
    double last;             /* when the last region ended */
    double worked;           /* time of the caller's pieces of the last region, and their number */
    int64_t done;
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

/* Wait until the region's word changes from `old`: awake for a while, then asleep. Return the new word. */
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
        if (!enter(t, word)) { /* another helper entered or left */
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

static void prepare_region(sc_team *t, int64_t pieces, int threads) {
    t->parts = threads < pieces ? threads : (int)pieces;
    t->fp = sc_fp_mode();
    for (int i = 0; i < t->parts; i++) {
        atomic_store_explicit(&t->shares[i].next, pieces * i / t->parts, memory_order_relaxed);
        t->shares[i].end = pieces * (i + 1) / t->parts;
    }
}

static void do_callers_pieces(sc_team *t) {
    double begun = now_ns();
    t->done = do_pieces(t, 0);
    t->worked = now_ns() - begun;
}

static void meet_helpers(sc_team *t) {
    uint64_t word = atomic_load_explicit(&t->region, memory_order_relaxed);
    /* sequentially consistent with `sleeping`, as in await_region */
    atomic_store(&t->region, (word / SERIAL + 1) * SERIAL | OPEN);
    if (atomic_load(&t->sleeping)) {
        pthread_mutex_lock(&t->lock);
        pthread_cond_broadcast(&t->wake);
        pthread_mutex_unlock(&t->lock);
    }
    do_callers_pieces(t);
    atomic_fetch_and_explicit(&t->region, ~OPEN, memory_order_relaxed);
    for (int round = 1; atomic_load_explicit(&t->region, memory_order_acquire) & ENTERED; round++)
        if (round % 1024) relax();
        else sched_yield();
}

/* Run on each thread of the lender, on the caller as worker 0. Any number of threads does all pieces, since idle
 * threads take the others' pieces. The lender orders the caller's earlier writes before, and the threads' writes before
 * its return. */
static void join_region(void *arg, int worker) {
    sc_team *t = arg;
    if (worker >= t->parts) return;
    uint64_t mode = sc_fp_mode(); /* restored below, as the lender's own work needs its mode */
    sc_fp_set(t->fp);
    if (worker == 0) do_callers_pieces(t);
    else do_pieces(t, worker);
    sc_fp_set(mode);
}

typedef struct outcome {
    double took, saved; /* saved: how much sooner all was done than by the caller alone, judging from the pieces that it
                           did; below 0: later, most often because a worker lost its core in the middle of a piece */
} outcome;

static outcome run_region(sc_team *t, bool lent, int64_t count, int64_t grain, int threads, sc_work *work, void *arg) {
    int64_t pieces = (count + grain - 1) / grain;
    t->work = work, t->arg = arg, t->count = count, t->grain = grain;
    prepare_region(t, pieces, threads);
    double start = now_ns();
    if (lent) {
        int members = t->lender->run(join_region, t);
        if (members != t->members) t->members = 0;
    } else meet_helpers(t);
    t->last = now_ns();
    double alone = t->done ? t->worked / (double)t->done * (double)pieces : t->worked;
    return (outcome){t->last - start, alone - (t->last - start)};
}

/* Wait until all pieces have begun, which `met` counts. Then every helper is in the region. */
static void meet(void *arg, int64_t begin, int64_t end, int worker) {
    (void)begin, (void)end, (void)worker;
    _Atomic int64_t *met = arg;
    double limit = now_ns() + MEET_NS; /* do not wait for a helper that gets no core */
    atomic_fetch_sub(met, 1);
    while (atomic_load(met) > 0 && now_ns() < limit) relax();
}

/* Return the cost of a region, including the transfer of shared cache lines between cores, and the time until sleepers
 * have a core again. Return 0 if some helper got no core, since such a time tells nothing about the cost. */
static double cost_of_region(sc_team *t, bool asleep, double at_least) {
    double least = 1e6;
    for (int i = 0; i < TRIALS; i++) {
        double limit = now_ns() + 20.0 * SPIN_NS; /* helpers without a core may never get to sleep */
        while (asleep && atomic_load(&t->sleeping) < t->helpers && now_ns() < limit) sched_yield();
        int workers = t->helpers + 1;
        _Atomic int64_t met = workers;
        double took = run_region(t, false, workers, 1, workers, meet, &met).took;
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
    t->own = t->lent = (account){CREDIT_NS, 0};
    t->lender = NULL;
    t->members = t->fruitless = 0;
    t->last = 0;
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

void sc_team_borrow(sc_team *t, const sc_lender *lender) { t->lender = lender; }

/* Start helpers until there are `wanted`. Helpers block signals, which are for the process's own threads. */
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

/* Measure the costs of a region. On failure, the next region tries again, and the time counts as lost. */
static void measure(sc_team *t) {
    double start = now_ns(), open = cost_of_region(t, false, LEAST_OPEN_NS);
    double wake = open > 0 ? cost_of_region(t, true, LEAST_WAKE_NS) : 0;
    t->measured = wake > 0;
    if (t->measured) {
        atomic_store_explicit(&t->open_ns, open, memory_order_relaxed);
        t->wake_ns = wake;
    } else t->own.credit -= now_ns() - start;
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

/* Return whether the team has its helpers in this process. After fork(), the child has none, and the team is reset;
 * return false while another thread resets it. */
static bool is_ours(sc_team *t) {
    long me = (long)getpid(), owner = atomic_load(&t->owner);
    if (owner == me) return true;
    if (owner == 0 || !atomic_compare_exchange_strong(&t->owner, &owner, 0)) return false;
    reset(t);
    atomic_store(&t->owner, me);
    return true;
}

static bool on_hold(const account *a) { return a->resume > 0 && now_ns() < a->resume; }

static void settle(account *a, double saved) {
    a->credit += saved;
    a->resume = a->credit < 0 ? now_ns() - PAUSE * a->credit : 0;
    a->credit = a->credit < 0 ? 0 : a->credit > CREDIT_NS ? CREDIT_NS : a->credit;
}

/* ---- the lender's threads ---- */

static void do_nothing(void *arg, int worker) { (void)arg, (void)worker; }

/* Return whether the lender's threads are awake. Ask again only some time after the last region, since no other regions
 * come between those of one loop. */
static bool lender_is_awake(sc_team *t) {
    pthread_t me = pthread_self();
    if (now_ns() - t->last > FRESH_NS || !pthread_equal(me, t->looker)) t->borrows = t->lender->state() == SC_AWAKE, t->looker = me;
    return t->borrows;
}

/* Run one region, so that the lender's threads are known at the next look. Only this region may have to wake them. */
static void meet_lender(sc_team *t) {
    t->fruitless = 0;
    if (t->lender->state() == SC_UNKNOWN) t->lender->run(do_nothing, NULL), t->last = 0;
}

/* Measure the cost of a region of the lender by an empty one, since all of the lender's threads enter every region.
 * Return false if one of them got no core in time; the lost time is accounted for. */
static bool measure_lender(sc_team *t) {
    double start = now_ns(), least = MEET_NS;
    t->members = t->lender->run(do_nothing, NULL);
    for (int i = 0; i < TRIALS; i++) {
        double begun = now_ns();
        t->lender->run(do_nothing, NULL);
        double took = now_ns() - begun;
        if (took < least) least = took;
        if (took >= MEET_NS) break;
    }
    t->lent_ns = least > LEAST_OPEN_NS ? least : LEAST_OPEN_NS;
    t->last = now_ns();
    if (least < MEET_NS) return true;
    t->members = 0;
    settle(&t->lent, start - t->last);
    return false;
}

static bool share_with_lender(sc_ctx *cx, int64_t count, int64_t grain, double ns, sc_work *work, void *arg) {
    sc_team *t = cx->team;
    if (on_hold(&t->lent) || (t->members < 2 && !measure_lender(t))) return false;
    if (t->members < 2 || ns < PAYS * t->lent_ns) return false;
    double saved = run_region(t, true, count, grain, sc_workers(cx), work, arg).saved;
    settle(&t->lent, saved < ns ? saved : ns);
    return true;
}

/* ---- sharing ---- */

/* Return whether sharing with helpers pays, for the thread that holds the team and work that is worth a region of awake
 * helpers. Sleepers are woken for one long piece of work, or after many short ones. */
static bool pays(sc_ctx *cx, double ns) {
    const sc_team *t = cx->team;
    if (on_hold(&t->own)) return false;
    if (t->helpers && !atomic_load_explicit(&t->sleeping, memory_order_relaxed)) return true;
    if (ns >= PAYS * t->wake_ns) return true;
    cx->unhelped += ns;
    if (cx->unhelped < WORTH_WAKING * t->wake_ns) return false;
    cx->unhelped = 0;
    return true;
}

static bool share_with_helpers(sc_ctx *cx, int64_t count, int64_t grain, double ns, sc_work *work, void *arg) {
    sc_team *t = cx->team;
    int threads = sc_workers(cx);
    if (!pays(cx, ns)) return false;
    if (t->helpers + 1 < threads) grow(t, threads - 1);
    if (!t->helpers) return false;
    if (!t->measured) measure(t);
    outcome o = run_region(t, false, count, grain, threads < t->helpers + 1 ? threads : t->helpers + 1, work, arg);
    settle(&t->own, o.saved < ns ? o.saved : ns); /* the caller itself may have lost its core */
    t->fruitless = o.saved * GAIN < o.took ? t->fruitless + 1 : 0;
    if (t->lender && (t->fruitless >= FRUITLESS || t->own.resume > 0)) meet_lender(t);
    return true;
}

/* Share the work between threads. Return false if doing the work alone is better. */
static bool share_work(sc_ctx *cx, int64_t count, int64_t grain, double ns, sc_work *work, void *arg) {
    sc_team *t = cx->team;
    if (!is_ours(t) || atomic_exchange(&t->busy, true)) return false;
    bool lent = t->lender && lender_is_awake(t);
    bool shared = (lent ? share_with_lender : share_with_helpers)(cx, count, grain, ns, work, arg);
    atomic_store(&t->busy, false);
    return shared;
}

void sc_parallel(sc_ctx *cx, int64_t count, int64_t grain, double ns, sc_work *work, void *arg) {
    bool several = count > grain && ns >= PAYS * LEAST_OPEN_NS && sc_workers(cx) > 1;
    /* tested first, since finding the owner of the team takes a system call */
    bool large = several && ns >= PAYS * atomic_load_explicit(&cx->team->open_ns, memory_order_relaxed);
    if (large && share_work(cx, count, grain, ns, work, arg)) return;
    if (count > 0) work(arg, 0, count, 0);
}
