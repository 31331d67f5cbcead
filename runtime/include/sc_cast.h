/* sc_cast.h - conversions whose result C leaves undefined, defined here as x86 does them (and so eager PyTorch there):
 * a float that does not fit gives the smallest integer; narrower integers take the low bits of the int32, and uint8 those of
 * the int64 (c10::static_cast_with_inter_type). For a float32 both are 0 where they could differ. The conversion
 * itself has no condition, so that compilers make vectors of it: a conversion that may be invalid stays behind a branch. */
#ifndef SC_CAST_H
#define SC_CAST_H

#include <stdint.h>
#include <string.h>

/* Return the bits of |x|, which have the order of the numbers; those of NaN are the largest. Comparisons of floats could be
 * combined with those of a clamp around them, which gives branches. */
static inline uint32_t sc_f32_magnitude(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x7fffffffu;
}

static inline uint64_t sc_f64_magnitude(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x7fffffffffffffffu;
}

static inline int32_t sc_f32_to_i32(float x) {
    const int fits = sc_f32_magnitude(x) < 0x4f000000u /* 2^31 */;
    const int32_t whole = (int32_t)(fits ? x : 0);
    return fits ? whole : INT32_MIN;
}

static inline int32_t sc_f64_to_i32(double x) {
    const int fits = sc_f64_magnitude(x) < 0x41e0000000000000u /* 2^31 */;
    const int32_t whole = (int32_t)(fits ? x : 0);
    return fits ? whole : INT32_MIN;
}

static inline int64_t sc_f32_to_i64(float x) {
    const int fits = sc_f32_magnitude(x) < 0x5f000000u /* 2^63 */;
    const int64_t whole = (int64_t)(fits ? x : 0);
    return fits ? whole : INT64_MIN;
}

static inline int64_t sc_f64_to_i64(double x) {
    const int fits = sc_f64_magnitude(x) < 0x43e0000000000000u /* 2^63 */;
    const int64_t whole = (int64_t)(fits ? x : 0);
    return fits ? whole : INT64_MIN;
}

#endif
