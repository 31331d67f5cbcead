/* floor.h - code that the cells by hand share: products by packed weights, vector math, a clock.
 *
 * Each file that includes this is one cell, compiled as a library for one size (-DBATCH, INPUT, HIDDEN, STEPS).
 * Yardsticks, not designs: fixed sizes, finite inputs, fast-math flags, weights packed beforehand, no checks. The
 * benchmark compares their results with eager's. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __AVX512F__
enum { LANES = 16, ROWS = 6, MOST_ROWS = 6 };
#else /* vectors half as wide, and half as many registers for sums */
enum { LANES = 8, ROWS = 3, MOST_ROWS = 6 };
#endif
typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int ints __attribute__((vector_size(4 * LANES)));

/* Pack the weights of the module, given in the order of its parameters. */
void prepare(const float *const *weights);
/* Compute the result of one sequence x. Plan 0 multiplies inputs in each step, plan 1 all of them before the loop. */
static void forward(int plan, const float *x, float *out);

/* Run a plan and return its seconds. */
double run(int plan, const float *x, float *out);
double run(int plan, const float *x, float *out) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    forward(plan, x, out);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

#define INLINE static inline __attribute__((always_inline, unused))

INLINE vec load(const float *p) { vec v; memcpy(&v, p, sizeof v); return v; }
INLINE void store(float *p, vec v) { memcpy(p, &v, sizeof v); }

/* Return e^x: a polynomial in the fraction times 2^n, which is added to the exponent bits. */
INLINE vec exp_of(vec x) {
    for (int i = 0; i < LANES; i++) x[i] = x[i] < 88.f ? x[i] : 88.f;
    for (int i = 0; i < LANES; i++) x[i] = x[i] > -87.f ? x[i] : -87.f;
    vec magic = (vec){0} + 0x1.8p23f; /* adding it rounds to an integer in the low bits */
    vec shifted = x * 0x1.715476p0f + magic, n = shifted - magic;
    vec r = x - n * 0x1.62e4p-1f - n * 0x1.7f7d1cp-20f;
    vec p = r * 0x1.6b1p-10f + 0x1.1239p-7f;
    p = p * r + 0x1.5555p-5f;
    p = p * r + 0x1.5555p-3f;
    p = p * r + 0.5f;
    p = p * r + 1.f;
    p = p * r + 1.f;
    return (vec)((ints)p + ((ints)shifted << 23));
}
INLINE vec sigmoid(vec x) { return 1.f / (1.f + exp_of(-x)); }
INLINE vec tanh_of(vec x) { return 1.f - 2.f / (1.f + exp_of(2.f * x)); }
INLINE vec relu(vec x) { return (vec)((ints)x & (x > 0.f)); }

INLINE float *floats(size_t count) {
    float *made = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
    if (!made) abort();
    return memset(made, 0, (count * sizeof(float) + 63) / 64 * 64);
}

/* Pack w [gates * hidden, depth] into panels of LANES hidden units. Each panel has `depth` rows with the gates side by
 * side. */
INLINE float *pack(int gates, int hidden, int depth, const float *w) {
    float *made = floats((size_t)gates * hidden * depth), *p = made;
    for (int j = 0; j < hidden; j += LANES)
        for (int k = 0; k < depth; k++)
            for (int g = 0; g < gates; g++)
                for (int l = 0; l < LANES; l++) *p++ = w[((size_t)g * hidden + j + l) * depth + k];
    return made;
}
/* Return the sum of two biases in the order of the panels; b may be NULL. */
INLINE float *pack_bias(int gates, int hidden, const float *a, const float *b) {
    float *made = floats((size_t)gates * hidden), *p = made;
    for (int j = 0; j < hidden; j += LANES)
        for (int g = 0; g < gates; g++)
            for (int l = 0; l < LANES; l++, p++) *p = a[g * hidden + j + l] + (b ? b[g * hidden + j + l] : 0);
    return made;
}

/* Compute tile[r][g] += x[r][:] panel[:][g]. rows and gates are constants at each call. */
INLINE void multiply(int rows, int gates, int depth, const float *x, size_t stride, const float *panel, vec (*tile)[4]) {
    vec more[4] = {{0}}; /* a second chain of sums, since one row alone would wait for its sums */
    int k = 0;
    if (rows == 1)
        for (; k + 2 <= depth; k += 2, panel += 2 * gates * LANES)
            for (int g = 0; g < gates; g++) {
                tile[0][g] += x[k] * load(panel + g * LANES);
                more[g] += x[k + 1] * load(panel + (gates + g) * LANES);
            }
    for (; k < depth; k++, panel += gates * LANES)
        for (int r = 0; r < rows; r++)
            for (int g = 0; g < gates; g++) tile[r][g] += x[r * stride + k] * load(panel + g * LANES);
    for (int g = 0; rows == 1 && g < gates; g++) tile[0][g] += more[g];
}

/* Run `block(rows, row)` with a constant number of rows over all rows. */
#define OVER_ROWS(count, block)                        \
    do {                                               \
        int row = 0;                                   \
        for (; row + ROWS <= (count); row += ROWS) block(ROWS, row); \
        switch ((count) - row) {                       \
        case 5: block(5, row); break;                  \
        case 4: block(4, row); break;                  \
        case 3: block(3, row); break;                  \
        case 2: block(2, row); break;                  \
        case 1: block(1, row); break;                  \
        }                                              \
    } while (0)

/* Compute out [count, gates * hidden], in the order of the panels, = bias + x w. */
#define PROJECT_BLOCK(rows, row)                                                                           \
    do {                                                                                                   \
        vec tile[MOST_ROWS][4];                                                                            \
        for (int r = 0; r < (rows); r++)                                                                   \
            for (int g = 0; g < gates; g++) tile[r][g] = load(bias + (j * gates + g) * LANES);             \
        multiply(rows, gates, depth, x + (size_t)(row) * depth, depth, w + (size_t)j * gates * LANES * depth, tile); \
        for (int r = 0; r < (rows); r++)                                                                   \
            for (int g = 0; g < gates; g++) store(out + (size_t)((row) + r) * width + (j * gates + g) * LANES, tile[r][g]); \
    } while (0)
INLINE void project(int gates, int hidden, int depth, int count, const float *x, const float *w, const float *bias, float *out) {
    size_t width = (size_t)gates * hidden;
    for (int j = 0; j < hidden / LANES; j++) OVER_ROWS(count, PROJECT_BLOCK);
}
