/* sc_fp.h - the calling thread's floating point mode: rounding, and whether denormals are flushed to zero. */
#ifndef SC_FP_H
#define SC_FP_H
#include <stdint.h>

#if defined(__SSE__)
#define SC_FP_FLUSH 0x8040u /* FTZ and DAZ of MXCSR */
static inline uint64_t sc_fp_mode(void) {
    return __builtin_ia32_stmxcsr();
}
static inline void sc_fp_set(uint64_t mode) {
    __builtin_ia32_ldmxcsr((unsigned)mode);
}
#elif defined(__aarch64__)
#define SC_FP_FLUSH (1u << 24) /* FZ of FPCR */
static inline uint64_t sc_fp_mode(void) {
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
static inline void sc_fp_set(uint64_t mode) {
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}
#else /* no such switch */
#define SC_FP_FLUSH 0u
static inline uint64_t sc_fp_mode(void) {
    return 0;
}
static inline void sc_fp_set(uint64_t mode) {
    (void)mode;
}
#endif

#endif
