/* sc_scalar.h - Python's int, float and math operations on int64_t and double. An int that does not fit in 64 bits raises
 * OverflowError; everything else gives, or raises, what CPython does. Functions that may raise write *out last and return
 * 0 or -1. */
#ifndef SC_SCALAR_H
#define SC_SCALAR_H

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "sc.h"
#include "sc_special.h"

/* Multiply, and round the product. Python has no fused multiply-add, which -ffp-contract=fast would make. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_assoc_barrier)
#define SC_ROUNDED(x) __builtin_assoc_barrier(x)
#elif __has_builtin(__arithmetic_fence)
#define SC_ROUNDED(x) __arithmetic_fence(x)
#endif
#endif
#ifndef SC_ROUNDED
static inline double sc_rounded(double x) {
    volatile double rounded = x;
    return rounded;
}
#define SC_ROUNDED(x) sc_rounded(x)
#endif


#define SC_SCALAR static inline __attribute__((unused))
#define SC_RAISE(...) (sc_raise(__VA_ARGS__), -1) /* the compiler sees that it fails, so that *out is never read unset */

SC_SCALAR int sc_int_overflow(sc_ctx *cx) {
    return SC_RAISE(cx, "OverflowError", "Python int too large to convert to C long");
}

SC_SCALAR int sc_int_add(sc_ctx *cx, int64_t a, int64_t b, int64_t *out) {
    return __builtin_add_overflow(a, b, out) ? sc_int_overflow(cx) : 0;
}

SC_SCALAR int sc_int_sub(sc_ctx *cx, int64_t a, int64_t b, int64_t *out) {
    return __builtin_sub_overflow(a, b, out) ? sc_int_overflow(cx) : 0;
}

SC_SCALAR int sc_int_mul(sc_ctx *cx, int64_t a, int64_t b, int64_t *out) {
    return __builtin_mul_overflow(a, b, out) ? sc_int_overflow(cx) : 0;
}

SC_SCALAR int sc_int_neg(sc_ctx *cx, int64_t a, int64_t *out) {
    return sc_int_sub(cx, 0, a, out);
}

SC_SCALAR int sc_int_abs(sc_ctx *cx, int64_t a, int64_t *out) {
    *out = a;
    return a < 0 ? sc_int_neg(cx, a, out) : 0;
}

SC_SCALAR int sc_int_floordiv(sc_ctx *cx, int64_t a, int64_t b, int64_t *out) {
    if (b == 0) return SC_RAISE(cx, "ZeroDivisionError", "integer division or modulo by zero");
    if (b == -1) return sc_int_neg(cx, a, out);
    *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return 0;
}

SC_SCALAR int sc_int_mod(sc_ctx *cx, int64_t a, int64_t b, int64_t *out) {
    if (b == 0) return SC_RAISE(cx, "ZeroDivisionError", "integer modulo by zero");
    int64_t r = b == -1 ? 0 : a % b; /* INT64_MIN % -1 traps */
    *out = r != 0 && (r < 0) != (b < 0) ? r + b : r;
    return 0;
}

SC_SCALAR int sc_int_lshift(sc_ctx *cx, int64_t a, int64_t n, int64_t *out) {
    if (n < 0) return SC_RAISE(cx, "ValueError", "negative shift count");
    *out = 0;
    if (a == 0) return 0;
    if (n > 62) return n == 63 && a == -1 ? (*out = INT64_MIN, 0) : sc_int_overflow(cx);
    return sc_int_mul(cx, a, (int64_t)1 << n, out);
}

SC_SCALAR int sc_int_rshift(sc_ctx *cx, int64_t a, int64_t n, int64_t *out) {
    if (n < 0) return SC_RAISE(cx, "ValueError", "negative shift count");
    *out = a >> (n > 63 ? 63 : n);
    return 0;
}

/* Return a power, for n >= 0. A negative exponent gives a float in Python, for which there is another op. */
SC_SCALAR int sc_int_pow(sc_ctx *cx, int64_t a, int64_t n, int64_t *out) {
    if (n < 0) return SC_RAISE(cx, "RuntimeError", "scriptc: an int to a negative power is a float");
    int64_t result = 1;
    for (;;) {
        if ((n & 1) && sc_int_mul(cx, result, a, &result) < 0) return -1;
        n >>= 1;
        if (n == 0) break;
        if (sc_int_mul(cx, a, a, &a) < 0) return -1;
    }
    *out = result;
    return 0;
}

SC_SCALAR int sc_float_truediv(sc_ctx *cx, double a, double b, double *out) {
    if (b == 0) return SC_RAISE(cx, "ZeroDivisionError", "float division by zero");
    *out = a / b;
    return 0;
}

/* Divide ints, correctly rounded, as CPython does. */
SC_SCALAR int sc_int_truediv(sc_ctx *cx, int64_t a, int64_t b, double *out) {
    if (b == 0) return SC_RAISE(cx, "ZeroDivisionError", "division by zero");
    const int64_t exact = (int64_t)1 << 53;
    if (-exact <= a && a <= exact && -exact <= b && b <= exact) {
        *out = (double)a / (double)b;
        return 0;
    }
    uint64_t n = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, d = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    uint64_t whole = n / d, rest = n % d;
    int exponent = 0;
    while (whole < (uint64_t)1 << 54 && n != 0) { /* 55 bits of quotient: 53 of the result, one to round, one below */
        bool carry = rest > d - rest || rest == d - rest;
        rest = carry ? rest - (d - rest) : rest + rest;
        whole = whole << 1 | carry;
        exponent--;
    }
    int drop = 64 - __builtin_clzll(whole | 1) - 55;
    if (drop > 0) {
        rest |= whole & (((uint64_t)1 << drop) - 1);
        whole >>= drop;
        exponent += drop;
    }
    double magnitude = ldexp((double)(whole | (rest != 0)), exponent);
    *out = (a < 0) != (b < 0) ? -magnitude : magnitude;
    return 0;
}

SC_SCALAR int sc_float_mod(sc_ctx *cx, double a, double b, double *out) {
    if (b == 0) return SC_RAISE(cx, "ZeroDivisionError", "float modulo");
    double r = fmod(a, b);
    if (r == 0) r = copysign(0.0, b);
    else if ((b < 0) != (r < 0)) r += b;
    *out = r;
    return 0;
}

SC_SCALAR int sc_float_floordiv(sc_ctx *cx, double a, double b, double *out) {
    if (b == 0) return SC_RAISE(cx, "ZeroDivisionError", "float floor division by zero");
    double r = fmod(a, b), quotient = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) quotient -= 1.0;
    if (quotient == 0) {
        *out = copysign(0.0, a / b);
        return 0;
    }
    double whole = floor(quotient);
    *out = quotient - whole > 0.5 ? whole + 1.0 : whole;
    return 0;
}

SC_SCALAR int sc_float_pow(sc_ctx *cx, double a, double b, double *out) {
    if (a == 0 && b < 0 && isfinite(b)) {
        return SC_RAISE(cx, "ZeroDivisionError", "0.0 cannot be raised to a negative power");
    }
    if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b)) {
        return SC_RAISE(cx, "ValueError", "scriptc: a negative number to a fractional power is complex");
    }
    *out = pow(a, b);
    if (isinf(*out) && isfinite(a) && isfinite(b)) {
        return SC_RAISE(cx, "OverflowError", "(34, 'Numerical result out of range')");
    }
    return 0;
}

SC_SCALAR int sc_float_to_int(sc_ctx *cx, double a, int64_t *out) {
    if (isnan(a)) return SC_RAISE(cx, "ValueError", "cannot convert float NaN to integer");
    if (isinf(a)) return SC_RAISE(cx, "OverflowError", "cannot convert float infinity to integer");
    if (!(a >= -0x1p63 && a < 0x1p63)) return sc_int_overflow(cx);
    *out = (int64_t)a;
    return 0;
}

SC_SCALAR int sc_math_floor(sc_ctx *cx, double a, int64_t *out) {
    return sc_float_to_int(cx, floor(a), out);
}

SC_SCALAR int sc_math_ceil(sc_ctx *cx, double a, int64_t *out) {
    return sc_float_to_int(cx, ceil(a), out);
}

/* Check a result as the math module does: NaN from a number is a domain error, infinity from a number a range error. */
SC_SCALAR int sc_math_result(sc_ctx *cx, double a, double result, double *out) {
    if (isnan(result) && !isnan(a)) return SC_RAISE(cx, "ValueError", "math domain error");
    if (isinf(result) && isfinite(a)) return SC_RAISE(cx, "OverflowError", "math range error");
    *out = result;
    return 0;
}

SC_SCALAR int sc_math_sqrt(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, sqrt(a), out);
}

/* Sums of likelihoods are full of differences that are 0 or -inf, and of logarithms of 1: these need no call. Unlike `==`, `>=` and
 * `<` are one branch each, since NaN takes the same way as numbers that need the call. */
SC_SCALAR int sc_math_exp(sc_ctx *cx, double a, double *out) {
    if (a >= 0) {
        if (a <= 0) return *out = 1, 0;
    } else if (a < -DBL_MAX) {
        return *out = 0, 0;
    }
    return sc_math_result(cx, a, exp(a), out);
}

SC_SCALAR int sc_math_sin(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, sin(a), out);
}

SC_SCALAR int sc_math_cos(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, cos(a), out);
}

SC_SCALAR int sc_math_tan(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, tan(a), out);
}

SC_SCALAR int sc_math_tanh(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, tanh(a), out);
}

SC_SCALAR int sc_math_asin(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, asin(a), out);
}

SC_SCALAR int sc_math_acos(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, acos(a), out);
}

SC_SCALAR int sc_math_atan(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, atan(a), out);
}

SC_SCALAR int sc_math_sinh(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, sinh(a), out);
}

SC_SCALAR int sc_math_cosh(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, cosh(a), out);
}

SC_SCALAR int sc_math_asinh(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, asinh(a), out);
}

SC_SCALAR int sc_math_acosh(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, acosh(a), out);
}

SC_SCALAR int sc_math_expm1(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, expm1(a), out);
}

SC_SCALAR int sc_math_erf(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, erf(a), out);
}

SC_SCALAR int sc_math_erfc(sc_ctx *cx, double a, double *out) {
    return sc_math_result(cx, a, erfc(a), out);
}

SC_SCALAR int sc_math_log(sc_ctx *cx, double a, double *out) {
    if (a <= 1) {
        if (a >= 1) return *out = 0, 0;
        if (a <= 0) return SC_RAISE(cx, "ValueError", "math domain error");
    }
    return sc_math_result(cx, a, log(a), out);
}

/* Return largest + log(the sum of exp(log - largest)) over two or three logs, as Python computes it. largest: one of the logs. */
static __attribute__((noinline, unused)) double sc_log_sum_exp_of(double largest, const double *logs, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double x = logs[i] - largest;
        sum += x >= 0 ? 1 : x < -DBL_MAX ? 0 : exp(x); /* 0, where it is not negative */
    }
    return largest + (sum > 1 || isnan(sum) ? log(sum) : 0);
}

/* Most of the logs of a search are -inf: if a single one is finite, the sum is 1. */
SC_SCALAR double sc_log_sum_exp(double a, double b) {
    double largest = b > a ? b : a;
    if ((a < -DBL_MAX || b < -DBL_MAX) && fabs(largest) <= DBL_MAX) return largest + 0.0;
    return sc_log_sum_exp_of(largest, (const double[]){a, b}, 2);
}

SC_SCALAR double sc_log_sum_exp_3(double a, double b, double c) {
    double larger = b > a ? b : a, smaller = b > a ? a : b, lesser = c < larger ? c : larger;
    double largest = c > larger ? c : larger, second = lesser > smaller ? lesser : smaller; /* or NaN */
    if (second < -DBL_MAX && fabs(largest) <= DBL_MAX) return largest + 0.0;
    return sc_log_sum_exp_of(largest, (const double[]){a, b, c}, 3);
}

SC_SCALAR int sc_math_log2(sc_ctx *cx, double a, double *out) {
    if (a <= 0) return SC_RAISE(cx, "ValueError", "math domain error");
    return sc_math_result(cx, a, log2(a), out);
}

SC_SCALAR int sc_math_log10(sc_ctx *cx, double a, double *out) {
    if (a <= 0) return SC_RAISE(cx, "ValueError", "math domain error");
    return sc_math_result(cx, a, log10(a), out);
}

SC_SCALAR int sc_math_log1p(sc_ctx *cx, double a, double *out) {
    if (a <= -1) return SC_RAISE(cx, "ValueError", "math domain error");
    *out = log1p(a);
    return 0;
}

SC_SCALAR int sc_math_atanh(sc_ctx *cx, double a, double *out) {
    if (a <= -1 || a >= 1) return SC_RAISE(cx, "ValueError", "math domain error");
    *out = atanh(a);
    return 0;
}

/* Compute gamma. gamma and lgamma have poles at 0 and the negative integers. */
SC_SCALAR int sc_math_gamma(sc_ctx *cx, double a, double *out) {
    if (a == -INFINITY || (isfinite(a) && a <= 0 && a == floor(a))) return SC_RAISE(cx, "ValueError", "math domain error");
    return sc_math_result(cx, a, tgamma(a), out);
}

SC_SCALAR int sc_math_lgamma(sc_ctx *cx, double a, double *out) {
    if (isfinite(a) && a <= 0 && a == floor(a)) return SC_RAISE(cx, "ValueError", "math domain error");
    int sign;
    return sc_math_result(cx, a, lgamma_r(a, &sign), out);
}

SC_SCALAR int sc_math_trunc(sc_ctx *cx, double a, int64_t *out) {
    return sc_float_to_int(cx, a, out);
}

SC_SCALAR int sc_math_fmod(sc_ctx *cx, double a, double b, double *out) {
    *out = fmod(a, b);
    if (isnan(*out) && !isnan(a) && !isnan(b)) return SC_RAISE(cx, "ValueError", "math domain error");
    return 0;
}

SC_SCALAR int sc_math_remainder(sc_ctx *cx, double a, double b, double *out) {
    *out = remainder(a, b);
    if (isnan(*out) && !isnan(a) && !isnan(b)) return SC_RAISE(cx, "ValueError", "math domain error");
    return 0;
}

SC_SCALAR int sc_math_ldexp(sc_ctx *cx, double a, int64_t exponent, double *out) {
    const int64_t most = 4096; /* more scales any double to 0 or an infinity */
    *out = ldexp(a, (int)(exponent > most ? most : exponent < -most ? -most : exponent));
    return isinf(*out) && isfinite(a) ? SC_RAISE(cx, "OverflowError", "math range error") : 0;
}

SC_SCALAR int sc_math_pow(sc_ctx *cx, double a, double b, double *out) {
    *out = pow(a, b);
    if (!isfinite(a) || !isfinite(b)) return 0;
    if (isnan(*out) || (a == 0 && b < 0)) return SC_RAISE(cx, "ValueError", "math domain error");
    return isinf(*out) ? SC_RAISE(cx, "OverflowError", "math range error") : 0;
}

/* Compute round(x): halves go to the even neighbor. */
SC_SCALAR int sc_float_round(sc_ctx *cx, double a, int64_t *out) {
    return sc_float_to_int(cx, rint(a), out);
}

/* Compute round(x, digits): the decimal nearest to x itself, not to a rounded product. */
SC_SCALAR int sc_float_round_to(sc_ctx *cx, double a, int64_t digits, double *out) {
    char text[400];
    *out = a;
    if (!isfinite(a) || digits > 323) return 0;
    if (digits < -308) {
        *out = copysign(0.0, a);
        return 0;
    }
    if (digits >= 0) {
        snprintf(text, sizeof text, "%.*f", digits > 60 ? 60 : (int)digits, a);
        if (digits <= 60) *out = strtod(text, NULL);
        return 0;
    }
    snprintf(text, sizeof text, "1e%d", (int)-digits);
    double unit = strtod(text, NULL);
    *out = rint(a / unit) * unit;
    return isinf(*out) ? SC_RAISE(cx, "OverflowError", "rounded value too large to represent") : 0;
}

/* ---- what Python checks around them ---- */

SC_SCALAR int sc_check_bound(sc_ctx *cx, bool bound, const char *name) {
    if (bound) return 0;
    return SC_RAISE(cx, "UnboundLocalError", "cannot access local variable '%s' where it is not associated with a value", name);
}

SC_SCALAR int sc_check_free(sc_ctx *cx, bool bound, const char *name) {
    if (bound) return 0;
    return SC_RAISE(cx, "NameError", "cannot access free variable '%s' where it is not associated with a value in enclosing scope", name);
}

SC_SCALAR int sc_check_unpack(sc_ctx *cx, int64_t length, int64_t count) {
    if (length > count) return SC_RAISE(cx, "ValueError", "too many values to unpack (expected %lld)", (long long)count);
    if (length == count) return 0;
    return SC_RAISE(cx, "ValueError", "not enough values to unpack (expected %lld, got %lld)", (long long)count, (long long)length);
}

SC_SCALAR int sc_check_step(sc_ctx *cx, int64_t step) {
    return step != 0 ? 0 : SC_RAISE(cx, "ValueError", "range() arg 3 must not be zero");
}

/* ---- calls that may recurse: counted, so that the stack of C cannot overflow ---- */

enum { SC_MAX_DEPTH = 1000 }; /* Python's default limit */

SC_SCALAR int sc_enter(sc_ctx *cx) {
    if (sc_check_stop(cx) < 0) return -1;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (!cx->depth) cx->stack_end = sc_stack_end(here, cx->stack_room);
    if (cx->depth >= SC_MAX_DEPTH || here < cx->stack_end) return SC_RAISE(cx, "RecursionError", "maximum recursion depth exceeded");
    cx->depth++;
    return 0;
}

SC_SCALAR void sc_leave(sc_ctx *cx) {
    cx->depth--; /* after an error, unwinding resets it */
}

/* ---- range(start, stop, step): step != 0 ---- */

enum { SC_STRIP = 1 << 16 }; /* iterations of a small body between two checks whether the call must end */

SC_SCALAR int64_t sc_strip_up(int64_t i, int64_t stop) { /* the end of a strip from i, counting up to stop ... */
    return i < stop && (uint64_t)stop - (uint64_t)i > SC_STRIP ? i + SC_STRIP : stop;
}

SC_SCALAR int64_t sc_strip_down(int64_t i, int64_t stop) { /* ... and down to it */
    return i > stop && (uint64_t)i - (uint64_t)stop > SC_STRIP ? i - SC_STRIP : stop;
}

SC_SCALAR uint64_t sc_range_len(int64_t start, int64_t stop, int64_t step) {
    uint64_t span = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    bool empty = step > 0 ? start >= stop : start <= stop;
    return empty ? 0 : (span - 1) / stride + 1;
}

SC_SCALAR int64_t sc_range_at(int64_t start, int64_t step, uint64_t k) {
    return (int64_t)((uint64_t)start + (uint64_t)step * k);
}

#endif
