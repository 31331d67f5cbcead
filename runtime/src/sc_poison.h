/* sc_poison.h - tells ASan which memory is kept for later use, for the files that keep memory. */
#ifndef SC_POISON_H
#define SC_POISON_H

#if defined(__SANITIZE_ADDRESS__)
/* Poison recycled blocks, so that ASan detects use after release, and overruns into the rest of a size class. */
#include <sanitizer/asan_interface.h>
#define POISON(p, n) __asan_poison_memory_region(p, n)
#define UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#elif defined(SC_SHARES_CONTEXTS)
/* Contexts may be shared with libraries built with ASan, so memory that they poison must be unpoisoned here, and
 * back. */
extern void __asan_poison_memory_region(void const volatile *address, size_t size) __attribute__((weak));
extern void __asan_unpoison_memory_region(void const volatile *address, size_t size) __attribute__((weak));
#define POISON(p, n) (__asan_poison_memory_region ? __asan_poison_memory_region(p, n) : (void)0)
#define UNPOISON(p, n) (__asan_unpoison_memory_region ? __asan_unpoison_memory_region(p, n) : (void)0)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif
#endif
