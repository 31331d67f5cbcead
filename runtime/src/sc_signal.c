/* sc_signal.c - lets compiled code notice SIGINT, by a handler that calls the one that the program has. */
#include "../include/sc_signal.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>

int *sc_sigint_running;
static int handling; /* handlers that may be about to set a flag */

/* a child forked during a handler of another thread inherits the count, but not the thread */
enum { PATIENCE = 100000 };

static struct sigaction first, next; /* the program's handlers found at the first and at the last installation */
static volatile sig_atomic_t is_inside;

static void pass_on(const struct sigaction *to, int number, siginfo_t *info, void *context) {
    if (to->sa_flags & SA_SIGINFO) to->sa_sigaction(number, info, context);
    else if (to->sa_handler != SIG_DFL && to->sa_handler != SIG_IGN) to->sa_handler(number);
}

/* Set the flag, and call the program's handler. If several libraries in turn install handlers over each other's, these
 * form a cycle. A handler that is reached again calls the one that was installed before all of them. */
static void on_sigint(int number, siginfo_t *info, void *context) {
    __atomic_fetch_add(&handling, 1, __ATOMIC_SEQ_CST);
    int *flag = __atomic_load_n(&sc_sigint_running, __ATOMIC_SEQ_CST);
    if (flag) __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&handling, 1, __ATOMIC_SEQ_CST);
    if (is_inside) {
        pass_on(&first, number, info, context);
        return;
    }
    is_inside = 1;
    pass_on(&next, number, info, context);
    is_inside = 0;
}

void sc_sigint_settle(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (int i = 0; i < PATIENCE && __atomic_load_n(&handling, __ATOMIC_SEQ_CST); i++) sched_yield();
}

void sc_sigint_watch(void) {
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now)) return;
    if (now.sa_flags & SA_SIGINFO ? now.sa_sigaction == on_sigint : now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) return;
    next = now;
    if (!first.sa_handler && !first.sa_sigaction) first = now;
    now.sa_flags |= SA_SIGINFO;
    now.sa_sigaction = on_sigint;
    sigaction(SIGINT, &now, NULL);
}
