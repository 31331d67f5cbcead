/* sc_signal.h - SIGINT, noticed by compiled code. A handler that only sets a flag stands in front of the handler that the
 * program has, which runs as before. */
#ifndef SC_SIGNAL_H
#define SC_SIGNAL_H

#pragma GCC visibility push(hidden)

extern int *sc_sigint_running; /* the flag that a signal sets, or NULL */

/* From now on SIGINT sets this flag; NULL: none. Returns the one before. Of one thread, the main one. */
static inline int *sc_sigint_flag(int *flag) {
    int *before = sc_sigint_running;
    __atomic_store_n(&sc_sigint_running, flag, __ATOMIC_RELAXED);
    return before;
}

void sc_sigint_settle(void); /* waits until no handler is about to set a flag that is no longer the one: before freeing it */

/* Puts the handler in front, unless it is there already. Where SIGINT has no handler, it goes on ending the process, or being
 * ignored. It costs a system call: others may have set handlers since the last time. */
void sc_sigint_watch(void);

#pragma GCC visibility pop
#endif
