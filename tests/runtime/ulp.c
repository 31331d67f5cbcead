/* ulp.c - the error of the float functions of sc_math.h over all inputs, or every n-th: ./ulp [n]
 * Prints one line per function and fails where an error is above the bound that sc_math.h promises. */
#include "sc_math.h"
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 4096 };
typedef void loop(const float *x, float *y);
typedef double referee(double);

#define ROW(name) static void loop_##name(const float *x, float *y) { for (int i = 0; i < BLOCK; i++) y[i] = sc_##name##_f32(x[i]); }
ROW(exp) ROW(exp2) ROW(expm1) ROW(log) ROW(log2) ROW(log10) ROW(log1p) ROW(tanh) ROW(sigmoid)
ROW(erf) ROW(sin) ROW(cos) ROW(tan) ROW(softplus) ROW(rsqrt) ROW(sqrt) ROW(round)

static const struct { const char *name; loop *loop; referee *referee; double bound; } rows[] = {
    {"exp", loop_exp, exp, 2}, {"exp2", loop_exp2, exp2, 4}, {"expm1", loop_expm1, expm1, 4}, {"log", loop_log, log, 2},
    {"log2", loop_log2, log2, 4}, {"log10", loop_log10, log10, 4}, {"log1p", loop_log1p, log1p, 4},
    {"tanh", loop_tanh, tanh, 2}, {"sigmoid", loop_sigmoid, sc_sigmoid_f64, 2}, {"erf", loop_erf, erf, 4},
    {"sin", loop_sin, sin, 4}, {"cos", loop_cos, cos, 4}, {"tan", loop_tan, tan, 4},
    {"softplus", loop_softplus, sc_softplus_f64, 4}, {"rsqrt", loop_rsqrt, sc_rsqrt_f64, 4}, {"sqrt", loop_sqrt, sqrt, 0.5},
    {"round", loop_round, rint, 0}};

/* Distance in units of the last place that float has at the exact value; infinite where only one is NaN or -0. */
static double distance(float y, double exact) {
    float rounded = (float)exact;
    if (isnan(y) || isnan(rounded)) return isnan(y) && isnan(rounded) ? 0 : INFINITY;
    if (exact == 0 && y == 0) return !signbit(y) == !signbit(exact) ? 0 : INFINITY;
    if (isinf(y) && isinf(rounded)) return y == rounded ? 0 : INFINITY;
    if (isinf(y) || isinf(rounded)) { /* the largest float against infinity: count from 2^128 */
        double finite = isinf(y) ? exact : y;
        return (ldexp(1, 128) - fabs(finite)) / ldexp(1, 104) + (!signbit(finite) != !signbit(isinf(y) ? y : rounded) ? INFINITY : 0);
    }
    int e;
    frexp(exact, &e);
    return fabs(y - exact) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

/* what no table of distances shows; returns the number of failures */
static int check_exact(void) {
    float nan = NAN;
    return !(isnan(sc_max_f32(nan, 1)) && isnan(sc_max_f32(1, nan)) && isnan(sc_min_f32(nan, 1)) && isnan(sc_min_f32(1, nan))) +
           !(sc_max_f32(2, 3) == 3 && sc_min_f32(2, 3) == 2 && sc_max_f64(3, 2) == 3 && isnan(sc_min_f64(1, (double)nan))) +
           !(signbit(sc_max_f32(-0.0f, 0.0f)) && !signbit(sc_max_f32(0.0f, -0.0f))) + !(signbit(sc_relu_f32(-0.0f)) && isnan(sc_relu_f32(nan))) +
           !(sc_sign_f32(nan) == 0 && sc_sign_f32(-3) == -1 && sc_sign_f64(2) == 1) +
           !(sc_remainder_f32(-5, 3) == 1 && sc_remainder_f32(5, -3) == -1 && signbit(sc_remainder_f32(-0.0f, 3))) +
           !(sc_remainder_f64(-1, (double)INFINITY) == (double)INFINITY && isnan(sc_remainder_f64(1, 0))) +
           !(sc_round_f32(0.5f) == 0 && sc_round_f32(1.5f) == 2 && sc_round_f64(2.5) == 2 && sc_trunc_f32(-1.5f) == -1);
}

int main(int argc, char **argv) {
    uint64_t step = argc > 1 ? (uint64_t)atoll(argv[1]) : 1;
    int failed = check_exact();
    if (failed) printf("%d exact checks failed\n", failed);
    for (size_t f = 0; f < sizeof rows / sizeof *rows; f++) {
        if (argc > 2 && strcmp(argv[2], rows[f].name)) continue;
        double worst = 0;
        float at = 0;
        static const uint32_t special[] = {0, 0x80000000u, 1, 0x80000001u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u,
                                           0x7f7fffffu, 0xff7fffffu, 0x3f800000u, 0xbf800000u, 0x00800000u, 0x80800000u};
        uint64_t n_special = sizeof special / sizeof *special, total = ((uint64_t)1 << 32) / step + n_special;
        for (uint64_t i = 0; i < total;) {
            float x[BLOCK] = {0}, y[BLOCK];
            int n = 0;
            for (; n < BLOCK && i < total; n++, i++)
                x[n] = sc_bits_float(i < n_special ? special[i] : (uint32_t)((i - n_special) * step));
            rows[f].loop(x, y);
            for (int j = 0; j < n; j++) {
                double d = distance(y[j], rows[f].referee(x[j]));
                if (d > worst) worst = d, at = x[j];
            }
        }
        printf("%-9s %.3f ulp at %.9g (%a)\n", rows[f].name, worst, at, at);
        fflush(stdout);
        failed |= worst > rows[f].bound;
    }
    return failed;
}
