/* sc_signal.h - lets compiled code notice SIGINT. A handler sets a flag, then calls the handler that the program
 * has. */
#ifndef SC_SIGNAL_H
#define SC_SIGNAL_H

#pragma GCC visibility push(hidden)

extern int *sc_sigint_running; /* the flag that a signal sets, or NULL */

/* Make SIGINT set this flag (NULL: none) from now on, and return the flag before. Only the main thread may call
 * this. */
static inline int *sc_sigint_flag(int *flag) {
    int *before = sc_sigint_running;
    __atomic_store_n(&sc_sigint_running, flag, __ATOMIC_RELAXED);
    return before;
}

void sc_sigint_settle(void); /* waits until no handler can set an earlier flag, so that it can be freed */

/* Install the handler before the program's own, unless it is installed. If SIGINT has no handler, it still ends the
 * process or is ignored. This costs a system call, since other code may have set handlers meanwhile. */
void sc_sigint_watch(void);

#pragma GCC visibility pop
#endif
