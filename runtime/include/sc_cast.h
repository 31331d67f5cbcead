/* sc_cast.h - conversions whose result C leaves undefined, defined here as x86 does them (and so eager PyTorch there):
 * a float that does not fit gives the smallest integer; narrower integers take the low bits of the int32. */
#ifndef SC_CAST_H
#define SC_CAST_H

#include <stdint.h>

static inline int32_t sc_f32_to_i32(float x) {
    return x >= -0x1p31f && x < 0x1p31f ? (int32_t)x : INT32_MIN;
}

static inline int32_t sc_f64_to_i32(double x) {
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}

static inline int64_t sc_f32_to_i64(float x) {
    return x >= -0x1p63f && x < 0x1p63f ? (int64_t)x : INT64_MIN;
}

static inline int64_t sc_f64_to_i64(double x) {
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

#endif
