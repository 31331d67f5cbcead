/* test_argmax.c - the position of the largest element of a product that is mostly estimated, against the argmax of the product. */
#include "checks.h"
#include "../../runtime/src/sc_gemm.h"
#include <math.h>
#include <stdio.h>

enum { PLAIN, TIES, ZEROS, TINY, HUGE_WEIGHTS, NAN_IN_WEIGHT, INFINITE_WEIGHT, INFINITE_BIAS, NAN_IN_INPUT, INFINITE_INPUT, NO_INPUT, KINDS };

static float uniform(float scale) { return ((float)below(1 << 20) / (1 << 19) - 1) * scale; }

static sc_tensor *floats(int rank, const int64_t *size, float scale) {
    sc_tensor *t = sc_empty(cx, SC_F32, rank, size);
    for (int64_t i = 0; i < t->numel; i++) ((float *)t->data)[i] = uniform(scale);
    return t;
}

/* Make a weight of two parts, since that of one may be packed later. */
static sc_packed *pack(sc_tensor *w) {
    int64_t half = w->size[0] / 2;
    sc_tensor *parts[] = {sc_narrow(cx, w, 0, 0, half), sc_narrow(cx, w, 0, half, w->size[0] - half)};
    sc_packed *packed = sc_pack_linear(cx, parts, 2);
    for (int i = 0; i < 2; i++) sc_release(cx, parts[i]);
    return packed;
}

static void change(int kind, sc_tensor *w, sc_tensor *bias, sc_tensor *x) {
    float *weights = w->data, *biases = bias->data, *inputs = x->data;
    const int64_t n = w->size[0], k = w->size[1], row = below(n), at = below(w->numel);
    switch (kind) {
    case TIES:
        for (int64_t i = 0; i < n; i++) {
            memcpy(weights + i * k, weights + i % 3 * k, (size_t)k * sizeof *weights);
            biases[i] = biases[i % 3];
        }
        break;
    case ZEROS:
        memset(weights, 0, (size_t)w->numel * sizeof *weights);
        memset(biases, 0, (size_t)n * sizeof *biases);
        break;
    case TINY:
        for (int64_t i = 0; i < w->numel; i++) weights[i] *= 1e-36f;
        for (int64_t i = 0; i < n; i++) biases[i] = 0;
        break;
    case HUGE_WEIGHTS:
        for (int64_t i = 0; i < w->numel; i++) weights[i] *= 1e34f;
        break;
    case NAN_IN_WEIGHT: weights[at] = NAN; break;
    case INFINITE_WEIGHT: weights[at] = INFINITY; break;
    case INFINITE_BIAS:
        for (int64_t i = 0; i < n; i++) biases[i] = -INFINITY;
        if (below(2)) biases[row] = INFINITY;
        break;
    case NAN_IN_INPUT: inputs[below(x->numel)] = NAN; break;
    case INFINITE_INPUT: inputs[below(x->numel)] = INFINITY; break;
    case NO_INPUT: memset(inputs, 0, (size_t)x->numel * sizeof *inputs);
    }
}

static void test(int kind, int64_t rows, int64_t n, int64_t k, bool has_bias, bool keepdim) {
    sc_tensor *w = floats(2, (int64_t[]){n, k}, 1), *all = floats(1, &n, 1), *x = floats(2, (int64_t[]){rows, k}, 1);
    change(kind, w, all, x);
    sc_tensor *bias = has_bias ? all : NULL;
    sc_packed *packed = pack(w), *estimate = sc_pack_estimate(cx, w);
    sc_tensor *found = sc_linear_argmax(cx, x, packed, bias, estimate, keepdim);
    bool same = found && found->rank == (keepdim ? 2 : 1) && found->size[0] == rows;
    for (int64_t r = 0; same && r < rows; r++) { /* products of several rows add up in another order */
        sc_tensor *row = sc_narrow(cx, x, 0, r, 1), *product = sc_linear_packed(cx, row, packed, bias);
        sc_tensor *expected = sc_arg_reduce(cx, product, SC_ARGMAX, -1, keepdim), *made[] = {row, product, expected};
        same = ((int64_t *)found->data)[r] == *(int64_t *)expected->data;
        for (int i = 0; i < 3; i++) sc_release(cx, made[i]);
    }
    checks++;
    if (!same && failures++ < 20)
        printf("FAILED kind %d, %lld rows, [%lld, %lld]\n", kind, (long long)rows, (long long)n, (long long)k);
    sc_tensor *made[] = {w, all, x, found};
    for (int i = 0; i < 4; i++) sc_release(cx, made[i]);
    sc_release(cx, packed);
    sc_release(cx, estimate);
}

/* Check that vectors of columns have the bits of the whole product. */
static void test_columns(int64_t n, int64_t k, bool has_bias) {
    enum { LANES = SC_VL / sizeof(float) };
    sc_tensor *w = floats(2, (int64_t[]){n, k}, 1), *bias = has_bias ? floats(1, &n, 1) : NULL, *x = floats(2, (int64_t[]){1, k}, 1);
    sc_packed *packed = pack(w);
    sc_tensor *product = sc_linear_packed(cx, x, packed, bias);
    for (int64_t j = 0; j < n; j += LANES) {
        float out[LANES];
        gemm_columns(packed, x->data, bias ? bias->data : NULL, j, out);
        checks++;
        if (memcmp(out, (float *)product->data + j, (size_t)(n - j < LANES ? n - j : LANES) * sizeof *out) && failures++ < 20)
            printf("FAILED columns from %lld of [%lld, %lld]\n", (long long)j, (long long)n, (long long)k);
    }
    sc_tensor *made[] = {w, bias, x, product};
    for (int i = 0; i < 4; i++) sc_release(cx, made[i]);
    sc_release(cx, packed);
}

int main(void) {
    cx = sc_ctx_new(NULL);
    for (int i = 0; i < 400; i++) test(i % KINDS, below(4) + 1, below(200) + 2, below(i % 7 ? 90 : 1200) + 1, below(2), below(2));
    for (int i = 0; i < 3; i++) test(PLAIN, i + 1, 1500 + below(100), 300, i % 2, false); /* a weight beyond the second cache */
    for (int i = 0; i < 100; i++) test_columns(below(200) + 2, below(i % 5 ? 90 : 1200) + 1, below(2));
    for (int i = 0; i < 3; i++) test_columns(1500 + below(100), i == 2 ? 700 : 300, i % 2);
    sc_ctx_free(cx);
    printf("%d checks, %d failed\n", checks, failures);
    return failures != 0;
}
