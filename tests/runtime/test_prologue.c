/* test_prologue.c - 1 x 1 convolutions with a prologue against those of images that were scaled before. */
#include "checks.h"
#include <math.h>
#include <stdio.h>

/* Return small whole numbers, so that sums are exact; channels_last: their strides. */
static sc_tensor *make(int64_t n, int64_t c, int64_t h, int64_t w, bool channels_last) {
    const int64_t size[4] = {n, c, h, w}, stride[4] = {c * h * w, 1, c * w, c};
    sc_tensor *t = channels_last ? sc_empty_strided(cx, SC_F32, 4, size, stride) : sc_empty(cx, SC_F32, 4, size);
    for (int64_t i = 0; i < t->numel; i++) ((float *)t->data)[i] = (float)(below(9) - 4);
    return t;
}
static float *at(const sc_tensor *t, int64_t n, int64_t c, int64_t y, int64_t x) {
    return (float *)t->data + n * t->stride[0] + c * t->stride[1] + y * t->stride[2] + x * t->stride[3];
}
static float bound(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

/* kind 0: a gate; 1: a scale and a shift, bounded; 2: a gate that must not be multiplied into the weights */
static void check(int kind, int64_t images, int64_t channels, int64_t filters, int64_t h, int64_t w, bool channels_last, int64_t step) {
    const int64_t weight[4] = {filters, channels, 1, 1}, stride[2] = {step, step}, none[2] = {0, 0}, one[2] = {1, 1};
    const float low = kind == 1 ? 0 : -INFINITY, high = kind == 1 ? 6 : INFINITY;
    sc_tensor *x = make(images, channels, h, w, channels_last), *scaled = make(images, channels, h, w, channels_last);
    sc_tensor *filter = make(filters, channels, 1, 1, false), *bias = sc_empty(cx, SC_F32, 1, &filters);
    sc_tensor *scale = make(kind == 1 ? 1 : images, channels, 1, 1, false), *shift = kind == 1 ? make(1, channels, 1, 1, false) : NULL;
    for (int64_t i = 0; i < filters; i++) ((float *)bias->data)[i] = (float)i;
    if (kind == 2) *at(scale, 0, below(channels), 0, 0) = 0x1p60f;
    for (int64_t n = 0; n < images; n++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t i = 0; i < h * w; i++) {
                float sum = *at(x, n, c, i / w, i % w) * *at(scale, kind == 1 ? 0 : n, c, 0, 0);
                *at(scaled, n, c, i / w, i % w) = bound(shift ? sum + *at(shift, 0, c, 0, 0) : sum, low, high);
            }
    sc_packed *packed = sc_pack_conv(cx, filter, bias, false, true);
    sc_tensor *expected = sc_conv2d_packed(cx, scaled, packed, NULL, channels_last, NULL, weight, stride, none, one, 1, -INFINITY,
                                           INFINITY, false, false, 0, 0, false, NULL);
    sc_tensor *got = sc_conv2d_prologue(cx, true, scale, shift, low, high, x, packed, NULL, channels_last, NULL, weight, stride, none,
                                        one, 1, -INFINITY, INFINITY, false, false, 0, 0, false, NULL);
    bool equal = got && expected && got->numel == expected->numel;
    for (int64_t i = 0; equal && i < got->numel; i++) equal = ((float *)got->data)[i] == ((float *)expected->data)[i];
    checks++;
    if (!equal && failures++ < 20)
        printf("FAILED kind %d: %lld images of %lld channels, %lld filters, %lld x %lld, channels last: %d, stride %lld\n", kind,
               (long long)images, (long long)channels, (long long)filters, (long long)h, (long long)w, channels_last, (long long)step);
    sc_ctx_unwind(cx);
}

int main(void) {
    static const int64_t channels[] = {1, 7, 16, 20, 27, 36, 600, 1024}, filters[] = {3, 8, 16, 24, 70};
    static const int64_t sizes[][2] = {{1, 1}, {5, 3}, {13, 12}};
    cx = sc_ctx_new(NULL);
    for (int kind = 0; kind < 3; kind++)
        for (int c = 0; c < 8; c++)
            for (int f = 0; f < 5; f++)
                for (int i = 0; i < 3 * 2; i++)
                    check(kind, 1 + (c + f + i) % 2, channels[c], filters[f], sizes[i / 2][0], sizes[i / 2][1], i % 2, 1 + (c + i) % 5 / 4);
    sc_ctx_free(cx);
    printf("%d checks, %d failed\n", checks, failures);
    return failures != 0;
}
