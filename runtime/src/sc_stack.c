/* sc_stack.c - how deep calls of compiled code may go on the stack of the running thread. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_getattr_np */
#endif
#include <pthread.h>

#include "../include/sc.h"

enum {
    RESERVE_PART = 4,          /* one part in so many of a stack, ... */
    RESERVE_MOST = 512 * 1024, /* ... but at most so many bytes, is left for functions that compiled code calls */
    FOREIGN_ROOM = 64 * 1024   /* bytes that compiled code may take on a stack that is not the thread's own */
};

typedef struct bounds {
    uintptr_t low, high;
    bool measured;
} bounds;

static bounds bounds_of_thread(void) {
#if defined(__APPLE__)
    uintptr_t high = (uintptr_t)pthread_get_stackaddr_np(pthread_self());
    return (bounds){high - pthread_get_stacksize_np(pthread_self()), high, true};
#elif defined(__linux__)
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0, guard = 0;
    if (pthread_getattr_np(pthread_self(), &attributes)) return (bounds){0, 0, true};
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_destroy(&attributes);
    if (guard >= bytes) guard = 0;
    return (bounds){(uintptr_t)low + guard, (uintptr_t)low + bytes, true}; /* some C libraries count the guard in */
#else
    return (bounds){0, 0, true};
#endif
}

uintptr_t sc_stack_end(uintptr_t here, size_t room) {
    static _Thread_local bounds own; /* measuring the main thread's reads /proc/self/maps */
    if (room) return here > room ? here - room : 0;
    if (!own.measured) own = bounds_of_thread();
    if (here <= own.low || here > own.high) return here > FOREIGN_ROOM ? here - FOREIGN_ROOM : 0;
    uintptr_t reserve = (own.high - own.low) / RESERVE_PART;
    return own.low + (reserve < RESERVE_MOST ? reserve : RESERVE_MOST);
}
