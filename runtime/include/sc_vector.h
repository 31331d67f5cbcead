/* sc_vector.h - SC_VL, the vector bytes of the ISA level that this translation unit is compiled for. Wider vectors than
 * the level has would be split through memory, so the width follows the -m flags. */
#ifndef SC_VECTOR_H
#define SC_VECTOR_H

#if defined SC_PORTABLE /* plain scalar code, on request */
#define SC_VL 8
#elif defined __AVX512F__
#define SC_VL 64
#elif defined __AVX2__
#define SC_VL 32
#elif defined __SSE2__ || defined __ARM_NEON
#define SC_VL 16
#else
#define SC_VL 8 /* one double: plain scalar code */
#endif

#define SC_INLINE static inline __attribute__((always_inline))

#endif
