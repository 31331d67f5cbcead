/* sc_math.h - scalar float functions for generated loops.
 *
 * The float ones are straight-line code (selects, no branches, no calls), so a loop over them becomes vector code.
 * All are correct at NaN, infinities, signed zeros and denormals; results underflow gradually. Largest error against
 * double libm in ulp over all 2^32 inputs (tests/runtime/ulp.c; fma contraction on):
 *
 *   exp 0.88  exp2 0.98  expm1 1.51  log 0.93  log2 1.10  log10 0.98  log1p 1.53  tanh 1.20  sigmoid 1.70
 *   erf 1.91  sin 1.54  cos 1.54  tan 3.49  softplus 1.76  rsqrt 1.49; sqrt and the roundings are exact
 *
 * (docs/guide/benchmarks.md names the inputs with these errors. Without contraction log2 and log10 have 1.8, the others as
 * above to a few tenths.)
 * sin, cos and tan read a small table: GCC vectorizes them only if its tuning favors gathers, which toolchain.py and
 * the levels of packages request.
 * The polynomials are Lawson minimax fits by tools/minimax.py. The rest, and double, is libm's. */
#ifndef SC_MATH_H
#define SC_MATH_H
#include <math.h>
#include <stdint.h>
#include <string.h>

#define SC_MATH static inline __attribute__((unused))

SC_MATH uint32_t sc_float_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
SC_MATH float sc_bits_float(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* ---- exponentials ---- */

#define SC_ROUND_MAGIC 12582912.0f /* 1.5 * 2^23: t + magic has the rounded t in its low bits */

/* Return (e^r - 1 - r) / r^2 for |r| <= log(2) / 2. */
SC_MATH float sc_exp_poly(float r) {
    float q = (0.00138182985f * r + 0.00836853217f) * (r * r) + (0.0416682921f * r + 0.166665226f);
    return q * r + 0.49999994f;
}
/* p * 2^n in two exact steps, so that a denormal result is rounded once: for the n that adding SC_ROUND_MAGIC + 254 has left in
 * the low bits of t, -254 <= n <= 254. 2^floor(n / 2) is made from n's bits, and 2^(n - floor(n / 2)) by difference. */
SC_MATH float sc_scale2(float p, float t) {
    uint32_t twice = sc_float_bits(t), half = (twice << 22) & 0xff800000u;
    return p * sc_bits_float(half) * sc_bits_float((twice << 23) - half);
}
/* Return n = round(x log2(e)), and write x - n log(2) as *r + *low. NaN gives any numbers, but no trap. */
SC_MATH int32_t sc_exp_reduce(float x, float *r, float *low) {
    float t = x * 1.44269502f + SC_ROUND_MAGIC, n = t - SC_ROUND_MAGIC;
    float high = x - n * 0.693145752f;
    *r = high - n * 1.42860677e-6f;
    *low = (high - *r) - n * 1.42860677e-6f;
    return (int32_t)(sc_float_bits(t) - sc_float_bits(SC_ROUND_MAGIC));
}
SC_MATH float sc_exp_f32(float x) {
    float c = x > 89.0f ? 89.0f : x;
    c = c < -104.0f ? -104.0f : c;
    float magic = SC_ROUND_MAGIC + 254.0f, t = c * 1.44269502f + magic, n = t - magic;
    float high = c - n * 0.693145752f, r = high - n * 1.42860677e-6f, low = (high - r) - n * 1.42860677e-6f;
    return sc_scale2(1.0f + (r + (low + r * r * sc_exp_poly(r))), t);
}
SC_MATH float sc_exp2_f32(float x) {
    float c = x > 129.0f ? 129.0f : x;
    c = c < -151.0f ? -151.0f : c;
    float magic = SC_ROUND_MAGIC + 254.0f, t = c + magic, f = c - (t - magic), r = f * 0.693147182f;
    float low = f * 0.693147182f - r - f * 1.90465421e-9f; /* rounding error of f log(2) */
    return sc_scale2(1.0f + (r + (low + r * r * sc_exp_poly(r))), t);
}
SC_MATH float sc_expm1_f32(float x) {
    float r, low, c = x > 89.0f ? 89.0f : x;
    c = c < -18.0f ? -18.0f : c;
    int32_t n = sc_exp_reduce(c, &r, &low); /* for NaN anything but 0 */
    float p = r + (low + r * r * sc_exp_poly(r)), s = sc_bits_float(((uint32_t)n + 126) << 23); /* half of 2^n: n can be 128 */
    float y = 2.0f * (s * p + (s - 0.5f));
    return copysignf(n == 0 ? p : y, x);
}
/* Return 2^n for the n that adding SC_ROUND_MAGIC + 127 has left in the low bits of t; 2^(n - 64) for SC_ROUND_MAGIC +
 * 63. */
SC_MATH float sc_exp_scale(float t) { return sc_bits_float(sc_float_bits(t) << 23); }
/* Return tanh(x). With e = 2^n e^r, 1 + e is the sum of 2^n + 1 and 2^n (e^r - 1), so that only the sum is rounded; 2^n
 * + 1 is exact wherever its rounding would matter. */
SC_MATH float sc_tanh_f32(float x) {
    float a = fabsf(x), z = a * a, c = a > 10.0f ? 10.0f : a;
    float p = -0.00571549917f;
    p = p * z + 0.0206491034f;
    p = p * z + -0.0537430048f;
    p = p * z + 0.133314848f;
    p = p * z + -0.333332837f;
    float magic = SC_ROUND_MAGIC + 127.0f, t = c * 2.88539004f + magic;
    float r = 2.0f * c - (t - magic) * 0.693147182f, scale = sc_exp_scale(t);
    float d = (r + r * r * sc_exp_poly(r)) * scale + (scale + 1.0f);
    return copysignf(a < 0.625f ? a + a * z * p : 1.0f - 2.0f / d, x);
}
/* Return 1 / (1 + e^-x). Both sides of the fraction are scaled by 2^-64, since e^-x may have a denormal inverse. */
SC_MATH float sc_sigmoid_f32(float x) {
    float c = x > 30.0f ? 30.0f : x, one = 0x1p-64f;
    c = c < -104.0f ? -104.0f : c;
    float magic = SC_ROUND_MAGIC + 63.0f, t = c * -1.44269502f + magic, n = t - magic;
    float r = (-c - n * 0.693145752f) - n * 1.42860677e-6f, scale = sc_exp_scale(t);
    float whole = scale + one, lost = one - (whole - scale); /* where e^-x is the larger */
    return one / (whole + ((r + r * r * sc_exp_poly(r)) * scale + lost));
}

/* ---- logarithms ---- */

/* Split x into 2^k m with m in [sqrt(1/2), sqrt(2)). */
SC_MATH float sc_log_split(float x, float *k) {
    int tiny = x < 1.17549435e-38f;
    uint32_t u = sc_float_bits(tiny ? x * 8388608.0f : x) - 0x3f3504f3u; /* bits of sqrt(1/2) */
    int32_t e = (int32_t)u >> 23;
    *k = (float)(e - (tiny ? 23 : 0));
    return sc_bits_float((u & 0x7fffffu) + 0x3f3504f3u);
}
/* Return log(1 + f) - f, where 1 + f is the m of sc_log_split. */
SC_MATH float sc_log_poly(float f) {
    float p = -0.0763642788f;
    p = p * f + 0.127622128f;
    p = p * f + -0.131596103f;
    p = p * f + 0.1420158f;
    p = p * f + -0.166234091f;
    p = p * f + 0.200012416f;
    p = p * f + -0.250008196f;
    p = p * f + 0.333333313f;
    return f * f * (p * f - 0.5f);
}
SC_MATH float sc_log_special(float x, float y) { /* y if x is positive and finite */
    y = x == 0.0f ? -INFINITY : y;
    y = x == INFINITY ? INFINITY : y;
    return x >= 0.0f ? y : NAN;
}
SC_MATH float sc_log_f32(float x) {
    float k, f = sc_log_split(x, &k) - 1.0f;
    float y = k * 0.693145752f + (f + (sc_log_poly(f) + k * 1.42860677e-6f));
    return sc_log_special(x, y);
}
SC_MATH float sc_log2_f32(float x) {
    float k, f = sc_log_split(x, &k) - 1.0f, p = sc_log_poly(f);
    return sc_log_special(x, k + (f * 1.44269502f + (p * 1.44269502f + f * 1.92596303e-8f)));
}
SC_MATH float sc_log10_f32(float x) {
    float k, f = sc_log_split(x, &k) - 1.0f, p = sc_log_poly(f);
    float y = f * 0.434294492f + (p * 0.434294492f + (k * 7.90341813e-7f - f * 1.01009546e-8f));
    return sc_log_special(x, k * 0.301029205f + y);
}
SC_MATH float sc_log1p_f32(float x) {
    float k, u = 1.0f + x, m = sc_log_split(u, &k);
    float lost = u > 2.0f ? 1.0f - (u - x) : x - (u - 1.0f); /* 1 + x - u */
    float scaled = k > 100.0f ? 0.0f : lost * sc_bits_float((uint32_t)(127 - (int32_t)(k > 100.0f ? 0.0f : k)) << 23);
    float f = (m - 1.0f) + scaled;
    float y = k * 0.693145752f + (f + (sc_log_poly(f) + k * 1.42860677e-6f));
    y = sc_log_special(u, y);
    return x == 0.0f ? x : y;
}
SC_MATH float sc_softplus_f32(float x) { /* log(1 + e^x), which is x for large x */
    float y = sc_log1p_f32(sc_exp_f32(x));
    return x > 20.0f ? x : y;
}

/* ---- erf ---- */

SC_MATH float sc_erf_f32(float x) { /* 1 - e^-q, q = -log(1 - erf(a)) */
    float a = fabsf(x), b = a > 4.0f ? 4.0f : a, r, low;
    float z = b * b, w = z * z;
    float high = -9.38805988e-06f * w + ((0.00011886187f * b + -0.00063736469f) * z + (0.00167567772f * b + -0.000169504725f));
    float p = high * w + ((-0.0191478226f * b + 0.102776304f) * z + (0.636619568f * b + 0.128379166f)); /* q / b - 1 */
    int32_t n = sc_exp_reduce(-(b + b * p), &r, &low);
    float t = r + r * r * sc_exp_poly(r), s = sc_bits_float(((uint32_t)n + 127) << 23);
    return copysignf((1.0f - s) - s * t, x);
}

/* ---- trigonometry ---- */

/* 2/pi, then 2/pi 2^(8 i) mod 4, in pieces of 28, 28 and 53 bits: times a 24-bit float the first two are exact. */
static const double sc_two_over_pi[3][14] = {
    {0x1.45f3068p-1, 0x1.7cc1b72p+1, 0x1.836e4e4p+0, 0x1.b727220p+1, 0x1.27220a8p+1, 0x1.220a94ep+1, 0x1.529fc00p-4,
     0x1.29fc274p+0, 0x1.fc2757cp+0, 0x1.3abe8e0p-3, 0x1.abe8fa8p+1, 0x1.e8fa9a6p+1, 0x1.f534ddcp+0, 0x1.34ddc0cp+0},
    {0x1.727220ap-27, 0x1.c882a50p-29, 0x1.054a7f0p-30, 0x1.529fc24p-28, 0x1.4fe13aap-27, 0x1.e13abe8p-27,
     0x1.3abe8fap-27, 0x1.7d1f534p-28, 0x1.1f534dcp-28, 0x1.a9a6ee0p-27, 0x1.a6ee06cp-27, 0x1.dc0db60p-28,
     0x1.b6c5280p-33, 0x1.b629598p-28},
    {0x1.29fc2757d1f53p-56, 0x1.fc2757d1f534ep-56, 0x1.3abe8fa9a6ee0p-59, 0x1.abe8fa9a6ee07p-55,
     0x1.e8fa9a6ee06dbp-55, 0x1.f534ddc0db629p-56, 0x1.34ddc0db6295ap-56, 0x1.bb81b6c52b328p-57,
     0x1.c0db6295993c4p-56, 0x1.b6c52b3278872p-57, 0x1.b14acc9e21c82p-55, 0x1.4acc9e21c8210p-55,
     0x1.993c439041fe0p-56, 0x1.3c439041fe000p-56}};

#define SC_ROUND_MAGIC_F64 6755399441055744.0 /* 1.5 * 2^52 */

/* Return r * pi/2, and write q mod 4 to *q, for any finite x = (q + r) pi/2, where |r| <= 1/2 up to rounding. */
SC_MATH float sc_trig_reduce(float x, uint32_t *q) {
    int32_t e = (int32_t)(sc_float_bits(x) >> 23 & 255), i = e < 158 ? 0 : (e - 150) >> 3;
    i = e == 255 ? 0 : i;
    double m = (double)(x * sc_bits_float((uint32_t)(127 - 8 * i) << 23)); /* an integer wherever i > 0 */
    double y = m * sc_two_over_pi[0][i], n = y * 0.25 + SC_ROUND_MAGIC_F64 - SC_ROUND_MAGIC_F64;
    y = y - 4.0 * n + m * sc_two_over_pi[1][i]; /* exact: 53 bits hold both grids */
    n = y + SC_ROUND_MAGIC_F64 - SC_ROUND_MAGIC_F64;
    y = y - n + m * sc_two_over_pi[2][i];
    *q = (uint32_t)(int32_t)n & 3;
    return (float)(y * 1.5707963267948966);
}
SC_MATH float sc_sin_poly(float s) {
    float z = s * s;
    return s + s * z * ((-0.000195187909f * z + 0.00833219197f) * z + -0.166666552f);
}
SC_MATH float sc_cos_poly(float s) {
    float z = s * s;
    return 1.0f + (z * -0.5f + z * z * ((2.44323273e-5f * z + -0.00138873095f) * z + 0.0416666456f));
}
SC_MATH float sc_sincos(float x, uint32_t shift) {
    uint32_t q;
    float finite = x - x == 0.0f ? x : 0.0f, s = sc_trig_reduce(finite, &q);
    q += shift;
    float y = q & 1 ? sc_cos_poly(s) : sc_sin_poly(s);
    y = sc_bits_float(sc_float_bits(y) ^ (q & 2) << 30);
    return x - x == 0.0f ? y : NAN;
}
SC_MATH float sc_sin_f32(float x) {
    float y = sc_sincos(x, 0);
    return x == 0.0f ? x : y;
}
SC_MATH float sc_cos_f32(float x) { return sc_sincos(x, 1); }
SC_MATH float sc_tan_f32(float x) {
    uint32_t q;
    float finite = x - x == 0.0f ? x : 0.0f, s = sc_trig_reduce(finite, &q), a = sc_sin_poly(s), b = sc_cos_poly(s);
    float y = (q & 1 ? -b : a) / (q & 1 ? a : b);
    y = x == 0.0f ? x : y;
    return x - x == 0.0f ? y : NAN;
}

/* ---- one instruction each ---- */

SC_MATH float sc_sqrt_f32(float x) { return __builtin_sqrtf(x); }
SC_MATH float sc_rsqrt_f32(float x) { return 1.0f / __builtin_sqrtf(x); }
SC_MATH float sc_floor_f32(float x) { return __builtin_floorf(x); }
SC_MATH float sc_ceil_f32(float x) { return __builtin_ceilf(x); }
SC_MATH float sc_trunc_f32(float x) { return __builtin_truncf(x); }
SC_MATH float sc_round_f32(float x) { return __builtin_rintf(x); } /* half to even */
SC_MATH float sc_abs_f32(float x) { return __builtin_fabsf(x); }
SC_MATH float sc_relu_f32(float x) { return x < 0.0f ? 0.0f : x; }
SC_MATH float sc_max_f32(float a, float b) { return ((a < b) | (b != b)) ? b : a; } /* NaN wins; of equals, the first */
SC_MATH float sc_min_f32(float a, float b) { return ((a > b) | (b != b)) ? b : a; }
SC_MATH float sc_sign_f32(float x) { return (float)((x > 0.0f) - (x < 0.0f)); } /* 0 for NaN, as in eager */
SC_MATH double sc_sqrt_f64(double x) { return __builtin_sqrt(x); }
SC_MATH double sc_rsqrt_f64(double x) { return 1.0 / __builtin_sqrt(x); }
SC_MATH double sc_floor_f64(double x) { return __builtin_floor(x); }
SC_MATH double sc_ceil_f64(double x) { return __builtin_ceil(x); }
SC_MATH double sc_trunc_f64(double x) { return __builtin_trunc(x); }
SC_MATH double sc_round_f64(double x) { return __builtin_rint(x); }
SC_MATH double sc_abs_f64(double x) { return __builtin_fabs(x); }
SC_MATH double sc_relu_f64(double x) { return x < 0.0 ? 0.0 : x; }
SC_MATH double sc_max_f64(double a, double b) { return ((a < b) | (b != b)) ? b : a; }
SC_MATH double sc_min_f64(double a, double b) { return ((a > b) | (b != b)) ? b : a; }
SC_MATH double sc_sign_f64(double x) { return (double)((x > 0.0) - (x < 0.0)); }

/* ---- libm ---- */

SC_MATH float sc_pow_f32(float x, float y) { return powf(x, y); }
SC_MATH float sc_pow_number_f32(float x, float e) {
    return e == 0.5f ? sc_sqrt_f32(x) : e == -0.5f ? sc_rsqrt_f32(x) : sc_pow_f32(x, e);
}
SC_MATH float sc_sinh_f32(float x) { return sinhf(x); }
SC_MATH float sc_cosh_f32(float x) { return coshf(x); }
SC_MATH float sc_asin_f32(float x) { return asinf(x); }
SC_MATH float sc_acos_f32(float x) { return acosf(x); }
SC_MATH float sc_atan_f32(float x) { return atanf(x); }
SC_MATH float sc_atan2_f32(float y, float x) { return atan2f(y, x); }
SC_MATH float sc_asinh_f32(float x) { return asinhf(x); }
SC_MATH float sc_acosh_f32(float x) { return acoshf(x); }
SC_MATH float sc_atanh_f32(float x) { return atanhf(x); }
SC_MATH float sc_fmod_f32(float a, float b) { return fmodf(a, b); }
SC_MATH float sc_remainder_f32(float a, float b) { /* Python's %: the sign of b */
    float r = fmodf(a, b);
    return ((r != 0.0f) & ((r < 0.0f) != (b < 0.0f))) ? r + b : r;
}
SC_MATH float sc_floordiv_f32(float a, float b) { /* Python's //; a / b by zero, as in eager */
    float r = fmodf(a, b), q = (a - r) / b;
    q -= ((r != 0.0f) & ((r < 0.0f) != (b < 0.0f))) ? 1.0f : 0.0f;
    float whole = __builtin_floorf(q);
    whole += q - whole > 0.5f ? 1.0f : 0.0f;
    return b == 0.0f ? a / b : q != 0.0f ? whole : __builtin_copysignf(0.0f, a / b);
}
SC_MATH double sc_exp_f64(double x) { return exp(x); }
SC_MATH double sc_exp2_f64(double x) { return exp2(x); }
SC_MATH double sc_expm1_f64(double x) { return expm1(x); }
SC_MATH double sc_tanh_f64(double x) { return tanh(x); }
SC_MATH double sc_sigmoid_f64(double x) {
    double e = exp(-fabs(x));
    return (x >= 0.0 ? 1.0 : e) / (1.0 + e);
}
SC_MATH double sc_log_f64(double x) { return log(x); }
SC_MATH double sc_log2_f64(double x) { return log2(x); }
SC_MATH double sc_log10_f64(double x) { return log10(x); }
SC_MATH double sc_log1p_f64(double x) { return log1p(x); }
SC_MATH double sc_softplus_f64(double x) { return x > 20.0 ? x : log1p(exp(x)); }
SC_MATH double sc_erf_f64(double x) { return erf(x); }
SC_MATH double sc_sin_f64(double x) { return sin(x); }
SC_MATH double sc_cos_f64(double x) { return cos(x); }
SC_MATH double sc_tan_f64(double x) { return tan(x); }
SC_MATH double sc_pow_f64(double x, double y) { return pow(x, y); }
SC_MATH double sc_pow_number_f64(double x, double e) {
    return e == 0.5 ? sc_sqrt_f64(x) : e == -0.5 ? sc_rsqrt_f64(x) : sc_pow_f64(x, e);
}
SC_MATH double sc_sinh_f64(double x) { return sinh(x); }
SC_MATH double sc_cosh_f64(double x) { return cosh(x); }
SC_MATH double sc_asin_f64(double x) { return asin(x); }
SC_MATH double sc_acos_f64(double x) { return acos(x); }
SC_MATH double sc_atan_f64(double x) { return atan(x); }
SC_MATH double sc_atan2_f64(double y, double x) { return atan2(y, x); }
SC_MATH double sc_asinh_f64(double x) { return asinh(x); }
SC_MATH double sc_acosh_f64(double x) { return acosh(x); }
SC_MATH double sc_atanh_f64(double x) { return atanh(x); }
SC_MATH double sc_fmod_f64(double a, double b) { return fmod(a, b); }
SC_MATH double sc_remainder_f64(double a, double b) {
    double r = fmod(a, b);
    return ((r != 0.0) & ((r < 0.0) != (b < 0.0))) ? r + b : r;
}
SC_MATH double sc_floordiv_f64(double a, double b) {
    double r = fmod(a, b), q = (a - r) / b;
    q -= ((r != 0.0) & ((r < 0.0) != (b < 0.0))) ? 1.0 : 0.0;
    double whole = __builtin_floor(q);
    whole += q - whole > 0.5 ? 1.0 : 0.0;
    return b == 0.0 ? a / b : q != 0.0 ? whole : __builtin_copysign(0.0, a / b);
}

/* ---- of two numbers ---- */

SC_MATH float sc_fmax_f32(float a, float b) { return ((a > b) | (b != b)) ? a : b; } /* the number, beside a NaN */
SC_MATH float sc_fmin_f32(float a, float b) { return ((a < b) | (b != b)) ? a : b; }
SC_MATH float sc_nextafter_f32(float a, float b) { return nextafterf(a, b); }
SC_MATH float sc_mantissa_f32(float x) {
    int exponent;
    return frexpf(x, &exponent);
}
SC_MATH float sc_exponent_f32(float x) {
    int exponent = 0;
    frexpf(x, &exponent);
    return x - x == 0 ? (float)exponent : 0;
}
SC_MATH float sc_logaddexp_f32(float a, float b) { /* equal infinities have no difference */
    return ((a == b) & (a - a != 0)) ? a : sc_max_f32(a, b) + sc_log1p_f32(sc_exp_f32(-sc_abs_f32(a - b)));
}
SC_MATH float sc_logaddexp2_f32(float a, float b) {
    float more = sc_log1p_f32(sc_exp2_f32(-sc_abs_f32(a - b))) * (float)1.4426950408889634;
    return ((a == b) & (a - a != 0)) ? a : sc_max_f32(a, b) + more;
}
SC_MATH double sc_fmax_f64(double a, double b) { return ((a > b) | (b != b)) ? a : b; } /* the number, beside a NaN */
SC_MATH double sc_fmin_f64(double a, double b) { return ((a < b) | (b != b)) ? a : b; }
SC_MATH double sc_nextafter_f64(double a, double b) { return nextafter(a, b); }
SC_MATH double sc_mantissa_f64(double x) {
    int exponent;
    return frexp(x, &exponent);
}
SC_MATH double sc_exponent_f64(double x) {
    int exponent = 0;
    frexp(x, &exponent);
    return x - x == 0 ? (double)exponent : 0;
}
SC_MATH double sc_logaddexp_f64(double a, double b) { /* equal infinities have no difference */
    return ((a == b) & (a - a != 0)) ? a : sc_max_f64(a, b) + sc_log1p_f64(sc_exp_f64(-sc_abs_f64(a - b)));
}
SC_MATH double sc_logaddexp2_f64(double a, double b) {
    double more = sc_log1p_f64(sc_exp2_f64(-sc_abs_f64(a - b))) * (double)1.4426950408889634;
    return ((a == b) & (a - a != 0)) ? a : sc_max_f64(a, b) + more;
}

#endif
