/* test_signs.c - products of signs in bits against plain loops, over sizes around words, blocks and tiles. */
#include "checks.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void expect(bool ok, const char *what) {
    checks++;
    if (!ok && failures++ < 20) printf("FAILED %s: %s\n", what, cx->error.message);
}

/* Return random signs; zeros: some are 0. */
static sc_tensor *signs(int rank, const int64_t *size, bool zeros) {
    sc_tensor *t = sc_empty(cx, SC_F32, rank, size);
    for (int64_t i = 0; i < t->numel; i++) ((float *)t->data)[i] = zeros && below(5) == 0 ? 0 : below(2) ? 1 : -1;
    return t;
}
static float at(const sc_tensor *t, int64_t i) { return ((const float *)t->data)[i]; }

static void test_linear(bool x_zeros, bool w_zeros) {
    const int64_t rows = below(20) + 1, weight[2] = {below(40) + 1, below(200) + 1}, size[2] = {rows, weight[1]};
    sc_tensor *x = signs(2, size, x_zeros), *w = signs(2, weight, w_zeros);
    sc_tensor *bits = sc_signs_rows(cx, x, 0, 0), *filters = sc_signs_filters(cx, w);
    sc_tensor *out = sc_signs_linear(cx, bits, filters, weight);
    bool ok = out != NULL;
    for (int64_t i = 0; ok && i < rows * weight[0]; i++) {
        float sum = 0;
        for (int64_t k = 0; k < weight[1]; k++) sum += at(x, i / weight[0] * weight[1] + k) * at(w, i % weight[0] * weight[1] + k);
        ok = at(out, i) == sum;
    }
    expect(ok, "linear");
    sc_tensor *all[] = {x, w, bits, filters, out};
    for (int i = 0; i < 5; i++) sc_release(cx, all[i]);
}

/* Return the element of a convolution's result by plain loops. */
static float convolved(const sc_tensor *x, const sc_tensor *w, const int64_t *stride, const int64_t *padding, const int64_t *dilation,
                       int64_t n, int64_t f, int64_t y, int64_t z) {
    float sum = 0;
    for (int64_t c = 0; c < w->size[1]; c++)
        for (int64_t a = 0; a < w->size[2]; a++)
            for (int64_t b = 0; b < w->size[3]; b++) {
                int64_t row = y * stride[0] - padding[0] + a * dilation[0], column = z * stride[1] - padding[1] + b * dilation[1];
                if (row < 0 || row >= x->size[2] || column < 0 || column >= x->size[3]) continue;
                sum += at(x, ((n * x->size[1] + c) * x->size[2] + row) * x->size[3] + column) *
                       at(w, ((f * w->size[1] + c) * w->size[2] + a) * w->size[3] + b);
            }
    return sum;
}

static void test_convolution(bool x_zeros, bool w_zeros, bool channels_last) {
    static const int64_t channels[] = {1, 3, 8, 31, 63, 64, 65, 70, 128, 130};
    int64_t c = channels[below(10)], weight[4] = {below(40) + 1, c, below(3) + 1, below(3) + 1}, stride[2], padding[2], dilation[2], size[4];
    size[0] = below(3) + 1, size[1] = c;
    for (int i = 0; i < 2; i++) {
        stride[i] = below(2) + 1, padding[i] = below(3), dilation[i] = below(2) + 1;
        size[2 + i] = dilation[i] * (weight[2 + i] - 1) + 1 + below(7);
    }
    sc_tensor *x = signs(4, size, x_zeros), *w = signs(4, weight, w_zeros);
    sc_tensor *bits = sc_signs_image(cx, x, weight, stride, padding, dilation, 0, 0), *filters = sc_signs_filters(cx, w);
    sc_tensor *out = sc_signs_conv2d(cx, bits, filters, channels_last, weight, stride, padding, dilation);
    bool ok = out != NULL;
    for (int64_t n = 0; ok && n < out->size[0]; n++)
        for (int64_t f = 0; f < out->size[1]; f++)
            for (int64_t y = 0; y < out->size[2]; y++)
                for (int64_t z = 0; z < out->size[3]; z++)
                    ok &= at(out, n * out->stride[0] + f * out->stride[1] + y * out->stride[2] + z * out->stride[3]) ==
                          convolved(x, w, stride, padding, dilation, n, f, y, z);
    expect(ok, "convolution");
    sc_tensor *all[] = {x, w, bits, filters, out};
    for (int i = 0; i < 5; i++) sc_release(cx, all[i]);
}

/* Signs of sums by thresholds of each filter, whose values are random, or grow with the sum. */
static void test_thresholds(bool x_zeros, bool grow, int how) {
    const int64_t c = below(30) + 1, weight[4] = {below(90) + 1, c, 2, 3}, size[4] = {2, c, 5, 6}, one[2] = {1, 1}, sums = 12 * c + 1;
    const int64_t of[2] = {sums, weight[0]}, rows = 2 * 6 * 6, wide = (weight[0] + 63) / 64;
    sc_tensor *x = signs(4, size, x_zeros), *w = signs(4, weight, false), *values = sc_empty(cx, SC_F32, 2, of);
    for (int64_t i = 0; i < values->numel; i++)
        ((float *)values->data)[i] = grow ? (float)(i / of[1] - below(2) - 6 * c + i % of[1] % 5) : (float)below(3) - 1;
    sc_tensor *image = sc_signs_image(cx, x, weight, one, one, one, 0, 0), *filters = sc_signs_filters(cx, w);
    sc_tensor *thresholds = sc_signs_thresholds(cx, values, how, 0);
    sc_tensor *out = sc_signs_conv2d(cx, image, filters, true, weight, one, one, one);
    sc_tensor *bits = sc_signs_conv2d_bits(cx, image, filters, thresholds, weight, one, one, one);
    bool ok = out && bits && out->numel == rows * weight[0];
    for (int64_t i = 0; ok && i < out->numel; i++) {
        int64_t f = i % weight[0], place = i / weight[0] * wide + f / 64, plane = bits->numel / bits->size[0];
        float v = at(values, ((int64_t)at(out, i) + sums / 2) * weight[0] + f);
        const bool negative = how ? !(v >= 0) : v < 0, zero = !how && v == 0;
        const uint64_t *word = (const uint64_t *)bits->data + place;
        ok = (*word >> f % 64 & 1) == negative && (bits->size[0] == 1 ? !zero : (word[plane] >> f % 64 & 1) == !zero);
    }
    expect(ok, "thresholds");
    sc_tensor *all[] = {x, w, values, image, filters, thresholds, out, bits};
    for (int i = 0; i < 8; i++) sc_release(cx, all[i]);
}

/* Floats on both sides of a bound, and NaN, as each `how` tells their signs. */
static void test_packing(void) {
    const float given[] = {-1, 0.5f, 2, NAN, -0.0f, INFINITY, -INFINITY, 0};
    const int64_t n = below(150) + 1, rows[2] = {3, n}, image[4] = {2, n, 3, below(9) + 1}, weight[4] = {1, n, 1, 1};
    const int64_t one[2] = {1, 1}, none[2] = {0, 0};
    for (int how = 0; how < 5; how++)
        for (int is_image = 0; is_image < 2; is_image++) {
            sc_tensor *x = is_image ? sc_empty(cx, SC_F32, 4, image) : sc_empty(cx, SC_F32, 2, rows);
            for (int64_t i = 0; i < x->numel; i++) ((float *)x->data)[i] = given[below(8)];
            double bound = below(2) / 2.0;
            sc_tensor *bits = is_image ? sc_signs_image(cx, x, weight, one, none, one, how, bound) : sc_signs_rows(cx, x, how, bound);
            int64_t plane = is_image ? image[2] * image[3] : 1, words = (n + 63) / 64, wide = bits->numel / bits->size[0];
            bool ok = true, zeros = false;
            for (int64_t i = 0; i < x->numel; i++) {
                float v = at(x, i);
                int64_t c = is_image ? i / plane % n : i % n, pixel = is_image ? i / plane / n * plane + i % plane : i / n;
                const uint64_t *word = (const uint64_t *)bits->data + pixel * words + c / 64;
                bool tells[] = {v < bound, v < bound, v <= bound, !(v >= bound), !(v > bound)}, zero = how == 0 && !(v < bound || v > bound);
                ok &= (*word >> c % 64 & 1) == tells[how] && (bits->size[0] == 1 || (word[wide] >> c % 64 & 1) != zero);
                zeros |= zero;
            }
            expect(ok && bits->size[0] == 1 + zeros, is_image ? "packing of images" : "packing of rows");
            sc_release(cx, x);
            sc_release(cx, bits);
        }
}

int main(void) {
    cx = sc_ctx_new(NULL);
    for (int i = 0; i < 80; i++) {
        test_linear(i & 1, i & 2);
        test_convolution(i & 1, i & 2, i & 4);
        test_thresholds(i & 1, i & 2, i & 4 ? 3 : 0);
        if (i % 8 == 0) test_packing();
    }
    sc_ctx_free(cx);
    printf("%d checks, %d failed\n", checks, failures);
    return failures != 0;
}
