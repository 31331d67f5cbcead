/* sc_half.h - float16 and bfloat16 as bit patterns, to and from float. Rounding is to nearest even, NaN stays NaN
 * and overflow gives infinity. Branch-free, so loops over these functions vectorize on any target; where the
 * compiler has a native half type whose conversions vectorize, that is used. */
#ifndef SC_HALF_H
#define SC_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t sc_bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float sc_float_of(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float sc_bf16_to_f32(uint16_t h) {
    return sc_float_of((uint32_t)h << 16);
}

static inline uint16_t sc_f32_to_bf16(float x) {
    uint32_t u = sc_bits_of(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
}

#if defined(__FLT16_MAX__) && (defined(__AVX512FP16__) || defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC))

__extension__ typedef _Float16 sc_float16; /* ISO C has none */

static inline float sc_f16_to_f32(uint16_t h) {
    sc_float16 x;
    memcpy(&x, &h, sizeof x);
    return (float)x;
}

static inline uint16_t sc_f32_to_f16(float f) {
    sc_float16 x = (sc_float16)f;
    uint16_t h;
    memcpy(&h, &x, sizeof h);
    return h;
}

#else

static inline float sc_f16_to_f32(uint16_t h) {
    uint32_t magnitude = h & 0x7fffu;
    /* No input is a denormal float, so the results are exact even if denormals are flushed. */
    uint32_t subnormal = sc_bits_of((float)(int32_t)magnitude * 0x1p-24f), normal = (magnitude << 13) + 0x38000000u;
    uint32_t finite = magnitude < 0x400u ? subnormal : normal;
    uint32_t special = 0x7f800000u | (magnitude << 13) | (magnitude > 0x7c00u ? 0x400000u : 0u);
    return sc_float_of((magnitude >= 0x7c00u ? special : finite) | (uint32_t)(h & 0x8000u) << 16);
}

static inline uint16_t sc_f32_to_f16(float f) {
    uint32_t u = sc_bits_of(f), magnitude = u & 0x7fffffffu;
    uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    /* Below 2^-14 the addition rounds at 2^-24, the spacing of subnormal halves. */
    uint32_t subnormal = sc_bits_of(sc_float_of(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
    return (uint16_t)((magnitude >= 0x47800000u ? special : finite) | ((u >> 16) & 0x8000u));
}

#endif
#endif
