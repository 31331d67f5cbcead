/* test_integers.c - products of 16-bit integers against plain loops, over sizes around pairs, blocks and tiles. */
#include "checks.h"
#include <stdio.h>
#include <string.h>

static void expect(bool ok, const char *what) {
    checks++;
    if (!ok && failures++ < 20) printf("FAILED %s: %s\n", what, cx->error.message);
}

enum { SIGNED_BYTES, UNSIGNED_BYTES, DIFFERENCES, WIDE };

/* Return random integers of a kind. DIFFERENCES: bytes minus a number; WIDE: up to the largest that a product takes. */
static sc_tensor *integers(int rank, const int64_t *size, int kind) {
    static const int64_t least[] = {-128, 0, -256, -32767}, count[] = {256, 256, 256, 65535};
    sc_tensor *t = sc_empty(cx, SC_I16, rank, size);
    int64_t from = least[kind] + (kind == DIFFERENCES ? below(256) : 0);
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t v = below(8), of = v == 0 ? 0 : v == 1 ? count[kind] - 1 : below(count[kind]);
        ((int16_t *)t->data)[i] = (int16_t)(from + of);
    }
    return t;
}
static uint32_t at(const sc_tensor *t, int64_t i) { return (uint32_t)((const int16_t *)t->data)[i]; }

static void test_matmul(bool transposed, int left_kind, int kind) {
    const int64_t rows = below(60) + 1, terms = below(70) + 1, columns = below(150) + 1;
    const int64_t left[2] = {rows, terms}, right[2] = {transposed ? columns : terms, transposed ? terms : columns};
    sc_tensor *x = integers(2, left, left_kind), *w = integers(2, right, kind), *turned = transposed ? sc_transpose(cx, w, 0, 1) : sc_alias(cx, w);
    sc_packed *packed = sc_integers_columns(cx, turned);
    sc_tensor *out = sc_integers_matmul(cx, x, packed, columns);
    bool ok = out != NULL;
    for (int64_t i = 0; ok && i < rows * columns; i++) {
        uint32_t sum = 0;
        for (int64_t k = 0; k < terms; k++)
            sum += at(x, i / columns * terms + k) * at(w, transposed ? i % columns * terms + k : k * columns + i % columns);
        ok = ((const uint32_t *)out->data)[i] == sum;
    }
    expect(ok, "matmul");
    sc_tensor *all[] = {x, w, turned, out};
    for (int i = 0; i < 4; i++) sc_release(cx, all[i]);
    sc_release(cx, packed);
}

/* Return the element of a convolution's result by plain loops. */
static uint32_t convolved(const sc_tensor *x, const sc_tensor *w, const int64_t *stride, const int64_t *padding, const int64_t *dilation,
                          int64_t per_group, int64_t n, int64_t f, int64_t y, int64_t z) {
    uint32_t sum = 0;
    for (int64_t c = 0; c < w->size[1]; c++)
        for (int64_t a = 0; a < w->size[2]; a++)
            for (int64_t b = 0; b < w->size[3]; b++) {
                int64_t row = y * stride[0] - padding[0] + a * dilation[0], column = z * stride[1] - padding[1] + b * dilation[1];
                if (row < 0 || row >= x->size[2] || column < 0 || column >= x->size[3]) continue;
                int64_t channel = f / per_group * w->size[1] + c;
                const int16_t *of = (const int16_t *)x->data + n * x->stride[0] + channel * x->stride[1];
                sum += (uint32_t)of[row * x->stride[2] + column * x->stride[3]] * at(w, ((f * w->size[1] + c) * w->size[2] + a) * w->size[3] + b);
            }
    return sum;
}

static void test_convolution(bool last, bool to_last, int image_kind, int kind) {
    int64_t groups = below(3) ? 1 : below(4) + 1, filters = groups * (below(14) + 1), stride[2], padding[2], dilation[2], size[4];
    const int64_t weight[4] = {filters, below(5) + 1, below(3) + 1, below(4) + 1}, order[4] = {0, 3, 1, 2};
    size[0] = below(3) + 1, size[1] = weight[1] * groups;
    for (int i = 0; i < 2; i++) {
        stride[i] = below(3) + 1, padding[i] = below(3), dilation[i] = below(2) + 1;
        size[2 + i] = dilation[i] * (weight[2 + i] - 1) + 1 + below(12);
    }
    const int64_t turned[4] = {size[0], size[2], size[3], size[1]};
    sc_tensor *whole = integers(4, last ? turned : size, image_kind), *x = last ? sc_permute(cx, whole, order, 4) : sc_alias(cx, whole);
    sc_tensor *w = integers(4, weight, kind);
    sc_packed *packed = sc_integers_filters(cx, w);
    sc_tensor *out = sc_integers_conv2d(cx, x, packed, to_last, weight, stride, padding, dilation, groups);
    bool ok = out != NULL && (!to_last || out->stride[1] == 1);
    for (int64_t n = 0; ok && n < out->size[0]; n++)
        for (int64_t f = 0; f < out->size[1]; f++)
            for (int64_t y = 0; y < out->size[2]; y++)
                for (int64_t z = 0; z < out->size[3]; z++)
                    ok &= ((const uint32_t *)out->data)[n * out->stride[0] + f * out->stride[1] + y * out->stride[2] + z * out->stride[3]] ==
                          convolved(x, w, stride, padding, dilation, filters / groups, n, f, y, z);
    expect(ok, "convolution");
    sc_tensor *all[] = {whole, x, w, out};
    for (int i = 0; i < 4; i++) sc_release(cx, all[i]);
    sc_release(cx, packed);
}

int main(void) {
    cx = sc_ctx_new(NULL);
    for (int i = 0; i < 192; i++) {
        test_matmul(i & 1, i % 4, i / 4 % 4);
        test_convolution(i & 1, i & 2, i / 2 % 4, i / 8 % 4);
    }
    sc_ctx_free(cx);
    printf("%d checks, %d failed\n", checks, failures);
    return failures != 0;
}
