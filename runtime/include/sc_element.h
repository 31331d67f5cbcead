/* sc_element.h - arithmetic for loops over elements: wrapping integer arithmetic, as tensors have it, on any C integer
 * type, and the types of half-precision elements. All functions are defined for all inputs and vectorize. */
#ifndef SC_ELEMENT_H
#define SC_ELEMENT_H

#include <stdint.h>
#include "sc_cast.h"
#include "sc_half.h"

typedef uint16_t sc_f16, sc_bf16; /* bits */
#include "sc_complex.h"

/* Put before a loop whose iterations are independent. */
#if defined(__clang__)
#define SC_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define SC_VECTORIZE _Pragma("GCC ivdep")
#endif
/* The attribute of functions with such loops, which are optimized on their own. */
#define SC_NOINLINE __attribute__((noinline))
/* The attribute of long functions that run each line once: to optimize these takes longer than it saves. The analysis of
 * pointers takes more than linear time. */
#if defined __OPTIMIZE__ && !defined __clang__
#define SC_STRAIGHT __attribute__((optimize("Og", "no-tree-pta")))
#else
#define SC_STRAIGHT
#endif

/* Convert an integer to an unsigned type in which arithmetic wraps. */
#define SC_UNSIGNED(x) _Generic((x), int64_t: (uint64_t)(x), default: (uint32_t)(x))

#define sc_wrap_add(a, b) ((__typeof__(a))(SC_UNSIGNED(a) + SC_UNSIGNED(b)))
#define sc_wrap_sub(a, b) ((__typeof__(a))(SC_UNSIGNED(a) - SC_UNSIGNED(b)))
#define sc_wrap_mul(a, b) ((__typeof__(a))(SC_UNSIGNED(a) * SC_UNSIGNED(b)))
#define sc_wrap_neg(a) ((__typeof__(a))(0 - SC_UNSIGNED(a)))
#define sc_wrap_abs(a) ((__typeof__(a))((a) < 0 ? 0 - SC_UNSIGNED(a) : SC_UNSIGNED(a)))
#define sc_wrap_mod(a, b) ((__typeof__(a))sc_mod_i64(a, b))
#define sc_wrap_rem(a, b) ((__typeof__(a))((b) == 0 || (int64_t)(b) == -1 ? 0 : (int64_t)(a) % (int64_t)(b)))
#define sc_wrap_div(a, b) ((__typeof__(a))sc_div_i64(a, b))
#define sc_wrap_floordiv(a, b) ((__typeof__(a))sc_floordiv_i64(a, b))
/* Shift. A negative count, or one of at least the width, shifts out every bit. */
#define sc_wrap_shl(a, b) ((b) < 0 || (uint64_t)(b) >= 8 * sizeof(a) ? 0 : (__typeof__(a))((uint64_t)(a) << (b)))
#define SC_SIGN_BITS(a) ((__typeof__(a))-1 > 0 ? 0 : 1)
#define sc_wrap_shr(a, b) ((__typeof__(a))((a) >> ((b) < 0 || (uint64_t)(b) >= 8 * sizeof(a) ? 8 * sizeof(a) - SC_SIGN_BITS(a) : (uint64_t)(b))))
#define sc_wrap_pow(a, b) ((__typeof__(a))sc_pow_i64(a, b))
#define sc_wrap_gcd(a, b) ((__typeof__(a))sc_gcd_i64(a, b))
#define sc_wrap_lcm(a, b) ((__typeof__(a))sc_lcm_i64(a, b))

/* Return Python's modulo, which has the sign of b. By zero: 0, since a check has raised before. */
static inline int64_t sc_mod_i64(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* Return the quotient rounded toward zero. By zero: 0, as above. */
static inline int64_t sc_div_i64(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return b == 0 ? 0 : (int64_t)(0 - (uint64_t)a);
    return a / b;
}

static inline int64_t sc_floordiv_i64(int64_t a, int64_t b) {
    int64_t q = sc_div_i64(a, b);
    return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/* Return a power. A negative exponent gives 0, except for the bases 1 and -1. */
static inline int64_t sc_pow_i64(int64_t a, int64_t n) {
    if (n < 0) return a == 1 ? 1 : a == -1 ? (n % 2 != 0 ? -1 : 1) : 0;
    uint64_t result = 1, base = (uint64_t)a;
    for (; n != 0; n >>= 1) {
        if (n & 1) result *= base;
        base *= base;
    }
    return (int64_t)result;
}

/* Return the greatest common divisor. It is negative only if it does not fit. */
static inline int64_t sc_gcd_i64(int64_t a, int64_t b) {
    uint64_t x = (uint64_t)sc_wrap_abs(a), y = (uint64_t)sc_wrap_abs(b);
    while (x != 0) {
        uint64_t rest = y % x;
        y = x, x = rest;
    }
    return (int64_t)y;
}

static inline int64_t sc_lcm_i64(int64_t a, int64_t b) {
    int64_t divisor = sc_gcd_i64(a, b);
    if (divisor == 0) return 0;
    int64_t product = sc_wrap_mul(a / divisor, b);
    return sc_wrap_abs(product);
}

#endif
