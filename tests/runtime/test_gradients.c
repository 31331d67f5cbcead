/* test_gradients.c - gradients of convolutions, pools and layer norm against plain loops. Values are small integers, so every sum
 * of the first two is exact in every dtype and results are compared for equality. */
#include "tensors.h"

#include "../../runtime/include/sc_ops.h"

typedef struct sizes { int64_t n, groups, c, f, h, w, oh, ow, kernel[2], stride[2], padding[2], dilation[2]; } sizes;

static double rounded(int dtype, double v) {
    if (dtype == SC_F16) return sc_f16_to_f32(sc_f32_to_f16((float)v));
    return dtype == SC_BF16 ? sc_bf16_to_f32(sc_f32_to_bf16((float)v)) : v;
}

/* Return images of random layouts, channels last among them. */
static sc_tensor *images(int dtype, int64_t n, int64_t c, int64_t h, int64_t w) {
    if (below(3)) return MAKE(dtype, (int)below(3), n, c, h, w);
    return sc_permute(cx, MAKE(dtype, 0, n, h, w, c), (int64_t[]){0, 3, 1, 2}, 4);
}

/* Add up the products of x, y and w over the whole convolution into the one whose gradient is taken. */
static void expected(const sizes *s, const sc_tensor *x, const sc_tensor *y, const sc_tensor *w, double *sums) {
    int64_t area = s->kernel[0] * s->kernel[1];
    double *of_y = elements(y), *other = elements(x ? x : w);
    for (int64_t i = 0; i < y->numel; i++) {
        int64_t ox = i % s->ow, oy = i / s->ow % s->oh, o = i / s->ow / s->oh % (s->groups * s->f), n = i / s->ow / s->oh / (s->groups * s->f);
        for (int64_t t = 0; t < s->c * area; t++) {
            int64_t iy = oy * s->stride[0] - s->padding[0] + t % area / s->kernel[1] * s->dilation[0];
            int64_t ix = ox * s->stride[1] - s->padding[1] + t % s->kernel[1] * s->dilation[1];
            if (iy < 0 || iy >= s->h || ix < 0 || ix >= s->w) continue;
            int64_t of_x = ((n * s->groups * s->c + o / s->f * s->c + t / area) * s->h + iy) * s->w + ix, of_w = o * s->c * area + t;
            if (x) sums[of_w] += of_y[i] * other[of_x];
            else sums[of_x] += of_y[i] * other[of_w];
        }
    }
    free(of_y), free(other);
}
static void check(const sc_tensor *got, int64_t numel, const double *sums, int dtype, const char *what) {
    bool fits = got && got->numel == numel && got->dtype == dtype && sc_is_contiguous(got);
    expect(fits, what, "shape");
    for (int64_t i = 0; fits && i < numel; i++)
        if (!same(get(got, i), rounded(dtype, sums[i]))) {
            expect(false, what, "values");
            break;
        }
}

static void check_convolution(const sizes *s, int dtype) {
    int64_t area = s->kernel[0] * s->kernel[1], weights = s->groups * s->f * s->c * area, pixels = s->n * s->groups * s->c * s->h * s->w;
    sc_tensor *x = images(dtype, s->n, s->groups * s->c, s->h, s->w), *y = images(dtype, s->n, s->groups * s->f, s->oh, s->ow);
    sc_tensor *w = MAKE(dtype, (int)below(3), s->groups * s->f, s->c, s->kernel[0], s->kernel[1]);
    double *sums = calloc((size_t)(weights > pixels ? weights : pixels) + 1, sizeof *sums);
    expected(s, x, y, NULL, sums);
    const int64_t *k = s->kernel;
    check(sc_conv2d_backward_weight(cx, x, y, k[0], k[1], s->stride, s->padding, s->dilation, s->groups), weights, sums, dtype, "weight");
    memset(sums, 0, (size_t)(weights > pixels ? weights : pixels) * sizeof *sums);
    expected(s, NULL, y, w, sums);
    check(sc_conv2d_backward_input(cx, y, w, s->h, s->w, s->stride, s->padding, s->dilation, s->groups), pixels, sums, dtype, "input");
    free(sums);
    sc_ctx_unwind(cx);
}

static void find_results(sizes *s) {
    s->oh = (s->h + 2 * s->padding[0] - s->dilation[0] * (s->kernel[0] - 1) - 1) / s->stride[0] + 1;
    s->ow = (s->w + 2 * s->padding[1] - s->dilation[1] * (s->kernel[1] - 1) - 1) / s->stride[1] + 1;
}

static void test_convolutions(void) {
    static const int dtypes[] = {SC_F32, SC_F32, SC_F32, SC_F64, SC_F16, SC_BF16};
    static const int64_t many[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 48, 65, 70};
    for (int round = 0; round < 300; round++) {
        sizes s = {.n = below(3) + (round > 0), .groups = 1 + below(3), .c = 1 + below(3), .f = many[below(14)], .h = 4 + below(9),
                   .w = 4 + below(24)};
        for (int i = 0; i < 2; i++)
            s.kernel[i] = 1 + below(4), s.stride[i] = 1 + below(3), s.padding[i] = below(3), s.dilation[i] = 1;
        if (s.h > 2 * s.kernel[0] + 2 && s.w > 2 * s.kernel[1] + 2) s.dilation[0] = 1 + below(2), s.dilation[1] = 1 + below(2);
        if (round % 9 == 0) s.c = 17 + below(30), s.groups = 1;                                    /* several blocks of channels */
        if (round % 7 == 0) s.kernel[0] = s.kernel[1] = 1, s.padding[0] = s.padding[1] = 0;        /* read in place */
        if (round % 11 == 0) s.f = 1, s.groups = 5 + below(20);                                    /* depthwise */
        if (round % 13 == 0 && round % 6) s.h = s.kernel[0] = 1, s.padding[0] = 0, s.dilation[0] = 1, s.w = 300 + below(300); /* a long row */
        if (round % 6 == 0) { /* the fast kernels of 3 x 3 */
            for (int i = 0; i < 2; i++) s.kernel[i] = 3, s.stride[i] = s.dilation[i] = 1, s.padding[i] = below(3);
            s.groups = 1, s.c = 16 + below(20), s.f = 16 + below(20);
        }
        find_results(&s);
        if (round % 5 == 0 && s.oh > 1) s.oh -= below(2); /* the input of a transposed convolution */
        check_convolution(&s, dtypes[below(6)]);
    }
}

/* Zeros of y do not hide infinities of x that no window reaches, and lanes beyond a row are not added. */
static void test_not_finite(void) {
    sizes s = {.n = 1, .groups = 2, .c = 1, .f = 1, .h = 3, .w = 5, .kernel = {1, 2}, .stride = {1, 2}, .padding = {0, 0}, .dilation = {1, 1}};
    for (s.f = 1; s.f < 20; s.f += 18) {
        find_results(&s);
        sc_tensor *x = MAKE(SC_F32, 0, s.n, s.groups * s.c, s.h, s.w), *y = MAKE(SC_F32, 0, s.n, s.groups * s.f, s.oh, s.ow);
        for (int64_t i = 0; i < x->numel; i++)
            if (i % s.w == 4) set(x, i, INFINITY);
        sc_tensor *got = sc_conv2d_backward_weight(cx, x, y, 1, 2, s.stride, s.padding, s.dilation, s.groups);
        for (int64_t i = 0; got && i < got->numel; i++) expect(isfinite(get(got, i)), "weight", "finite");
        sc_ctx_unwind(cx);
    }
}

static void test_errors(void) {
    int64_t one[2] = {1, 1}, zero[2] = {0, 0};
    sc_tensor *x = MAKE(SC_F32, 0, 2, 3, 8, 8), *y = MAKE(SC_F32, 0, 2, 4, 7, 6), *w = MAKE(SC_F32, 0, 4, 3, 3, 3);
    expect_error(sc_conv2d_backward_weight(cx, x, y, 3, 3, one, zero, one, 1), "RuntimeError",
                 "a gradient of size [2, 4, 7, 6] is not that of a convolution of an input of size [2, 3, 8, 8] by a weight of size "
                 "[4, 3, 3, 3]");
    expect_error(sc_conv2d_backward_input(cx, y, w, 8, 8, one, zero, one, 1), "RuntimeError",
                 "a gradient of size [2, 4, 7, 6] is not that of a convolution of an input of size [2, 3, 8, 8] by a weight of size "
                 "[4, 3, 3, 3]");
    expect_error(sc_conv2d_backward_input(cx, y, w, 8, 8, zero, zero, one, 1), "RuntimeError", "non-positive stride is not supported");
    expect_error(sc_max_pool2d_backward(cx, y, x, one, one, zero, one, false), "RuntimeError",
                 "a gradient of size [2, 4, 7, 6] is not that of pooling an input of size [2, 3, 8, 8]");
    sc_ctx_unwind(cx);
}

static int64_t pooled(int64_t in, int64_t k, int64_t s, int64_t p, int64_t d, bool ceil_mode) {
    int64_t out = (in + 2 * p - d * (k - 1) - 1 + (ceil_mode ? s - 1 : 0)) / s + 1;
    return out - (ceil_mode && (out - 1) * s >= in + p);
}

static void test_max_pool(void) {
    static const int dtypes[] = {SC_F32, SC_F32, SC_F64, SC_F16};
    for (int round = 0; round < 150; round++) {
        int64_t n = below(3) + (round > 0), c = 1 + below(round % 10 ? 4 : 200), h = 6 + below(6), w = 6 + below(round % 8 ? 6 : 300);
        int64_t k[2] = {1 + below(3), 1 + below(3)}, s[2] = {1 + below(3), 1 + below(3)}, d[2] = {1 + below(2), 1 + below(2)};
        int64_t p[2] = {below(((k[0] - 1) * d[0] + 1) / 2 + 1), below(((k[1] - 1) * d[1] + 1) / 2 + 1)};
        bool ceil_mode = below(2);
        int dtype = dtypes[below(4)];
        int64_t oh = pooled(h, k[0], s[0], p[0], d[0], ceil_mode), ow = pooled(w, k[1], s[1], p[1], d[1], ceil_mode);
        sc_tensor *x = images(dtype, n, c, h, w), *y = images(dtype, n, c, oh, ow);
        if (round % 4 == 0)
            for (int64_t i = 0; i < x->numel; i++) {
                int64_t kind = below(8);
                if (kind < 4) set(x, offset_of(x, i), kind == 0 ? NAN : kind == 1 ? INFINITY : -INFINITY);
            }
        double *sums = calloc((size_t)x->numel + 1, sizeof *sums);
        for (int64_t i = 0; i < y->numel; i++) {
            int64_t ox = i % ow, oy = i / ow % oh, plane = i / ow / oh, place = -1;
            double most = 0;
            for (int64_t t = 0; t < k[0] * k[1]; t++) {
                int64_t iy = oy * s[0] - p[0] + t / k[1] * d[0], ix = ox * s[1] - p[1] + t % k[1] * d[1];
                if (iy < 0 || iy >= h || ix < 0 || ix >= w) continue;
                double v = at(x, (plane * h + iy) * w + ix);
                if (place < 0 || v > most || isnan(v)) most = v, place = (plane * h + iy) * w + ix;
            }
            if (place >= 0) sums[place] += at(y, i);
        }
        sc_tensor *got = sc_max_pool2d_backward(cx, y, x, k, s, p, d, ceil_mode);
        bool fits = got && got->numel == x->numel && got->dtype == dtype;
        expect(fits, "max_pool2d", "shape");
        for (int64_t i = 0; fits && i < got->numel; i++)
            if (!same(at(got, i), rounded(dtype, sums[i]))) {
                expect(false, "max_pool2d", "values");
                break;
            }
        free(sums);
        sc_ctx_unwind(cx);
    }
}

/* Compute the gradients of `rows` rows of n elements in double. */
static void expected_norm(const sc_tensor *y, const sc_tensor *x, const sc_tensor *w, int64_t rows, int64_t n, double eps,
                          double *of_input, double *of_weight) {
    double *all = elements(x), *grads = elements(y);
    for (int64_t r = 0; r < rows; r++) {
        const double *row = all + r * n, *of_row = grads + r * n;
        double mean = 0, spread = 0, level = 0, along = 0;
        for (int64_t i = 0; i < n; i++) mean += row[i] / (double)n;
        for (int64_t i = 0; i < n; i++) spread += (row[i] - mean) * (row[i] - mean) / (double)n;
        double scale = 1 / sqrt(spread + eps);
        for (int64_t i = 0; i < n; i++) {
            double normal = (row[i] - mean) * scale, grad = of_row[i] * (w ? at(w, i) : 1);
            of_weight[i] += of_row[i] * normal, level += grad / (double)n, along += grad * normal / (double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            double normal = (row[i] - mean) * scale, grad = of_row[i] * (w ? at(w, i) : 1);
            of_input[r * n + i] = scale * (grad - level - normal * along);
        }
    }
    free(all), free(grads);
}

/* Compare with a tolerance that grows with the number of terms of a sum. */
static void check_near(const sc_tensor *got, int dtype, int64_t numel, int64_t terms, const double *want, const char *what) {
    bool fits = got && got->dtype == dtype && got->numel == numel && sc_is_contiguous(got);
    expect(fits, what, "shape");
    double unit = dtype == SC_F64 ? 1e-13 : dtype == SC_F32 ? 2e-5 : dtype == SC_F16 ? 2e-3 : 1.6e-2;
    for (int64_t i = 0; fits && i < numel; i++)
        if (!(fabs(get(got, i) - want[i]) <= unit * (fabs(want[i]) + 4 + 0.1 * (double)terms))) {
            expect(false, what, "values");
            break;
        }
}

static void test_layer_norm(void) {
    static const int dtypes[] = {SC_F32, SC_F32, SC_F64, SC_F16, SC_BF16};
    for (int round = 0; round < 120; round++) {
        int64_t rows = round % 7 ? 1 + below(40) : below(3) * 700, inner = 1 + below(round % 11 ? 90 : 700), outer = 1 + below(3);
        int64_t size[2] = {outer, inner}, n = outer * inner, before = sc_ctx_count_live(cx);
        int dtype = dtypes[below(5)], wide = dtype == SC_F64 ? SC_F64 : SC_F32;
        sc_tensor *x = MAKE(dtype, (int)below(3), rows, outer, inner), *y = MAKE(dtype, (int)below(3), rows, outer, inner);
        sc_tensor *w = below(3) ? MAKE(below(2) ? dtype : wide, (int)below(3), outer, inner) : NULL, *first = NULL, *second = NULL;
        double *want = calloc((size_t)((rows + 1) * n), sizeof *want), *sums = want + rows * n;
        expected_norm(y, x, w, rows, n, 1e-3, want, sums);
        expect(sc_layer_norm_backward(cx, y, x, size, 2, w, 1e-3, &first, &second) == 0, "layer_norm", "error");
        check_near(first, dtype, rows * n, 1, want, "layer_norm input");
        check_near(second, wide, n, rows, sums, "layer_norm weight");
        sc_tensor *alone = sc_layer_norm_backward_input(cx, y, x, size, 2, w, 1e-3);
        expect(alone && !memcmp(alone->data, first->data, (size_t)(rows * n) * sc_dtype_size(dtype)), "layer_norm", "input alone");
        free(want);
        sc_tensor *const made[] = {x, y, w, first, second, alone};
        for (int i = 0; i < 6; i++) sc_release(cx, made[i]);
        expect(sc_ctx_count_live(cx) == before, "layer_norm", "leaks");
        sc_ctx_unwind(cx);
    }
    sc_tensor *x = MAKE(SC_F32, 0, 3, 4), *y = MAKE(SC_F32, 0, 3, 5), *w = MAKE(SC_F32, 0, 5);
    expect_error(sc_layer_norm_backward_input(cx, y, x, (int64_t[]){4}, 1, NULL, 0), "RuntimeError",
                 "expected a gradient of shape [3, 4], but got [3, 5]");
    expect_error(sc_layer_norm_backward_input(cx, x, x, (int64_t[]){4}, 1, w, 0), "RuntimeError",
                 "Expected weight to be of same shape as normalized_shape, but got weight of shape [5] and normalized_shape = [4]");
    sc_ctx_unwind(cx);
}

static void test_leaks(void) {
    int64_t one[2] = {1, 1}, zero[2] = {0, 0};
    sc_tensor *x = MAKE(SC_F16, 1, 2, 16, 9, 9), *w = MAKE(SC_F16, 0, 16, 16, 3, 3), *y = MAKE(SC_F16, 1, 2, 16, 7, 7);
    int64_t before = sc_ctx_count_live(cx);
    sc_release(cx, sc_conv2d_backward_weight(cx, x, y, 3, 3, one, zero, one, 1));
    sc_release(cx, sc_conv2d_backward_input(cx, y, w, 9, 9, one, zero, one, 1));
    sc_release(cx, sc_conv2d_backward_input(cx, y, w, 10, 9, one, zero, one, 1));
    sc_release(cx, sc_max_pool2d_backward(cx, x, x, one, one, zero, one, false));
    sc_release(cx, sc_conv2d_backward_weight(cx, x, w, 3, 3, one, zero, one, 1));
    cx->error = (sc_error){.loc = -1};
    expect(sc_ctx_count_live(cx) == before, "leaks", "");
    sc_ctx_unwind(cx);
}

int main(void) {
    cx = sc_ctx_new(NULL);
    test_convolutions();
    test_not_finite();
    test_errors();
    test_max_pool();
    test_layer_norm();
    test_leaks();
    sc_ctx_free(cx);
    printf("%d checks, %d failed\n", checks, failures);
    return failures != 0;
}
