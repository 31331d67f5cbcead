/* sc_pool.c - max_pool2d and avg_pool2d. float, double and int64 have loops; halves go through float, other integers
 * through int64. */
#include "sc_image.h"
#include "../include/sc_team.h"
#include <math.h>

enum { POOL_PART = 128 }; /* results, or channels, whose largest elements are found side by side */

typedef struct pool_shape { /* sizes of one plane; pairs are (h, w) */
    int64_t in[2], out[2], kernel[2], stride[2], padding[2], dilation[2], divisor;
    bool count_padding, max;
} pool_shape;

/* The part of a window along one dim: from..to lies in the image, and `whole` elements in the image or its padding. */
typedef struct pool_span { int64_t from, to, whole; } pool_span;
static pool_span pool_span_of(const pool_shape *s, int i, int64_t o) {
    int64_t at = o * s->stride[i] - s->padding[i], end = at + s->kernel[i], last = s->in[i] + s->padding[i];
    if (end > last) end = last;
    return (pool_span){at < 0 ? 0 : at, end > s->in[i] ? s->in[i] : end, end - at};
}
static int64_t pool_divisor(const pool_shape *s, pool_span y, pool_span z) {
    return s->divisor ? s->divisor : s->count_padding ? y.whole * z.whole : (y.to - y.from) * (z.to - z.from);
}

#define T float
#define N(name) pool_##name##_f32
#define LEAST (-INFINITY)
#define POOL_SUM(a, b) ((a) + (b))
#define POOL_NAN(v) ((v) != (v))
#include "sc_pool_tile.inc"
#undef T
#undef N
#define T double
#define N(name) pool_##name##_f64
#include "sc_pool_tile.inc"
#undef T
#undef N
#undef LEAST
#undef POOL_SUM
#undef POOL_NAN
#define POOL_INTEGERS
#define T int64_t
#define N(name) pool_##name##_i64
#define LEAST INT64_MIN
#define POOL_SUM(a, b) ((uint64_t)(a) + (uint64_t)(b)) /* wraps */
#define POOL_NAN(v) 0
#include "sc_pool_tile.inc"
#undef POOL_INTEGERS
#undef T
#undef N
#undef LEAST
#undef POOL_SUM
#undef POOL_NAN

/* ---- shapes and checks, in eager's order ---- */

static int pool_output_size(sc_ctx *cx, pool_shape *s, int i, bool ceil_mode) {
    int64_t in = s->in[i], kernel = s->kernel[i], stride = s->stride[i], pad = s->padding[i], dilation = s->dilation[i];
    if (stride == 0) return sc_raise(cx, "RuntimeError", "stride should not be zero");
    if (pad < 0) return sc_raise(cx, "RuntimeError", "pad must be non-negative, but got pad: %lld", (long long)pad);
    if (pad > ((kernel - 1) * dilation + 1) / 2)
        return sc_raise(cx, "RuntimeError",
                        "pad should be at most half of effective kernel size, but got pad=%lld, kernel_size=%lld and dilation=%lld",
                        (long long)pad, (long long)kernel, (long long)dilation);
    int64_t span = in + 2 * pad - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
    s->out[i] = span / stride - (span % stride != 0 && (span < 0) != (stride < 0)) + 1;
    if (ceil_mode && (s->out[i] - 1) * stride >= in + pad) s->out[i]--; /* the last window starts inside */
    return 0;
}

static int pool_check_positive(sc_ctx *cx, const char *what, const char *h, const char *w, const int64_t *pair) {
    if (pair[0] > 0 && pair[1] > 0) return 0;
    return sc_raise(cx, "RuntimeError", "%s should be greater than zero, but got %s: %lld %s: %lld", what, h, (long long)pair[0], w,
                    (long long)pair[1]);
}

static int pool_prepare(sc_ctx *cx, const sc_tensor *x, pool_shape *s, bool ceil_mode) {
    for (int i = 0; i < 2; i++) s->in[i] = x->size[x->rank - 2 + i];
    if (pool_output_size(cx, s, 0, ceil_mode) < 0 || pool_output_size(cx, s, 1, ceil_mode) < 0) return -1;
    if (pool_check_positive(cx, "kernel size", "kH", "kW", s->kernel) < 0 ||
        pool_check_positive(cx, "stride", "dH", "dW", s->stride) < 0 ||
        pool_check_positive(cx, "dilation", "dilationH", "dilationW", s->dilation) < 0)
        return -1;
    bool valid = x->rank == 3 || x->rank == 4;
    for (int d = x->rank == 4; valid && d < x->rank; d++) valid = x->size[d] != 0; /* only a batch may be empty */
    if (!valid)
        return sc_raise(cx, "RuntimeError", "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:%s",
                        sc_shape_text(x).s);
    int64_t planes = x->size[x->rank - 3];
    if (s->out[0] < 1 || s->out[1] < 1)
        return sc_raise(cx, "RuntimeError",
                        "Given input size: (%lldx%lldx%lld). Calculated output size: (%lldx%lldx%lld). Output size is too small",
                        (long long)planes, (long long)s->in[0], (long long)s->in[1], (long long)planes, (long long)s->out[0],
                        (long long)s->out[1]);
    bool unsupported = s->max ? x->dtype == SC_BOOL : x->dtype < SC_I64;
    if (unsupported)
        return sc_raise(cx, "NotImplementedError", "\"%s\" not implemented for '%s'", s->max ? "max_pool2d" : "avg_pool2d",
                        sc_scalar_type_name(x->dtype));
    return 0;
}

/* ---- the operations ---- */

static void pool_plane(const pool_shape *s, int dtype, const void *x, void *out) {
    if (dtype == SC_F32) s->max ? pool_max_f32(s, x, out) : pool_average_f32(s, x, out);
    else if (dtype == SC_F64) s->max ? pool_max_f64(s, x, out) : pool_average_f64(s, x, out);
    else s->max ? pool_max_i64(s, x, out) : pool_average_i64(s, x, out);
}

static void pool_image(const pool_shape *s, int dtype, int64_t channels, int64_t apart, const void *x, void *out) {
    if (dtype == SC_F32) s->max ? pool_max_channels_f32(s, channels, apart, x, out) : pool_average_channels_f32(s, channels, apart, x, out);
    else if (dtype == SC_F64)
        s->max ? pool_max_channels_f64(s, channels, apart, x, out) : pool_average_channels_f64(s, channels, apart, x, out);
    else s->max ? pool_max_channels_i64(s, channels, apart, x, out) : pool_average_channels_i64(s, channels, apart, x, out);
}

/* Return whether images have their channels side by side, and rows without gaps. */
static bool pool_takes_channels(const sc_tensor *x) {
    if (x->rank != 4 || !image_channels_last(x)) return false;
    return sc_is_channels_last(x) || (x->stride[1] == 1 && x->stride[2] == sc_wrapped_product(x->size[3], x->stride[3]));
}

/* Pool images whose channels are side by side, as those of the result then are. */
static sc_tensor *pool_channels_last(sc_ctx *cx, const sc_tensor *x, const pool_shape *s) {
    int64_t channels = x->size[1], size[4] = {x->size[0], channels, s->out[0], s->out[1]};
    int64_t area = s->out[0] * s->out[1] * channels, stride[4] = {area, 1, s->out[1] * channels, channels};
    sc_tensor *out = sc_empty_strided(cx, x->dtype, 4, size, stride);
    size_t item = sc_dtype_size(x->dtype);
    int64_t apart = sc_is_channels_last(x) ? channels : x->stride[3];
    for (int64_t i = 0; out && i < size[0]; i++)
        pool_image(s, x->dtype, channels, apart, (const char *)x->data + (size_t)(i * x->stride[0]) * item,
                   (char *)out->data + (size_t)(i * area) * item);
    return out;
}

static sc_tensor *pool_run(sc_ctx *cx, const sc_tensor *x, const pool_shape *s) {
    int dtype = x->dtype == SC_F64 ? SC_F64 : x->dtype >= SC_F16 ? SC_F32 : SC_I64;
    if (dtype == x->dtype && pool_takes_channels(x)) return pool_channels_last(cx, x, s);
    int64_t size[4];
    for (int d = 0; d < x->rank; d++) size[d] = d < x->rank - 2 ? x->size[d] : s->out[d - x->rank + 2];
    sc_tensor *in = image_prepared(cx, x, dtype), *wide = in ? sc_empty(cx, dtype, x->rank, size) : NULL, *out = NULL;
    if (wide) {
        size_t item = sc_dtype_size(dtype), in_step = item * (size_t)(s->in[0] * s->in[1]);
        size_t out_step = item * (size_t)(s->out[0] * s->out[1]);
        int64_t planes = wide->numel / (s->out[0] * s->out[1]);
        for (int64_t i = 0; i < planes; i++)
            pool_plane(s, dtype, (const char *)in->data + (size_t)i * in_step, (char *)wide->data + (size_t)i * out_step);
        out = sc_to_dtype(cx, wide, x->dtype);
    }
    sc_release(cx, in);
    sc_release(cx, wide);
    return image_channels_last(x) ? image_to_channels_last(cx, out) : out;
}

SC_KERNEL sc_tensor *sc_max_pool2d(sc_ctx *cx, const sc_tensor *x, const int64_t *kernel, const int64_t *stride,
                                   const int64_t *padding, const int64_t *dilation, bool ceil_mode) {
    if (x->rank != 3 && x->rank != 4) {
        sc_raise(cx, "RuntimeError", "non-empty 3D or 4D (batch mode) tensor expected for input");
        return NULL;
    }
    pool_shape s = {.kernel = {kernel[0], kernel[1]}, .stride = {stride[0], stride[1]}, .padding = {padding[0], padding[1]},
                    .dilation = {dilation[0], dilation[1]}, .max = true};
    return pool_prepare(cx, x, &s, ceil_mode) < 0 ? NULL : pool_run(cx, x, &s);
}

SC_KERNEL sc_tensor *sc_avg_pool2d(sc_ctx *cx, const sc_tensor *x, const int64_t *kernel, const int64_t *stride,
                                   const int64_t *padding, bool ceil_mode, bool count_include_pad, int64_t divisor) {
    if (x->rank < 3) { /* eager fails at x.size(-3) */
        if (x->rank == 0) sc_raise(cx, "IndexError", "Dimension specified as -3 but tensor has no dimensions");
        else
            sc_raise(cx, "IndexError", "Dimension out of range (expected to be in range of [-%d, %d], but got -3)", x->rank,
                     x->rank - 1);
        return NULL;
    }
    pool_shape s = {.kernel = {kernel[0], kernel[1]}, .stride = {stride[0], stride[1]}, .padding = {padding[0], padding[1]},
                    .dilation = {1, 1}, .divisor = divisor, .count_padding = count_include_pad};
    return pool_prepare(cx, x, &s, ceil_mode) < 0 ? NULL : pool_run(cx, x, &s);
}

/* ---- gradients ---- */

/* Images, planes, or parts of POOL_PART channels where these are side by side, whose gradients are found one by one. */
typedef struct pool_gradient { const pool_shape *s; const sc_tensor *x, *grad; sc_tensor *out; bool channels_last; } pool_gradient;

static void pool_gradient_part(void *arg, int64_t begin, int64_t end, int worker) {
    const pool_gradient *g = arg;
    const pool_shape *s = g->s;
    (void)worker;
    int64_t channels = g->channels_last ? g->x->size[1] : 1, parts = (channels + POOL_PART - 1) / POOL_PART;
    int64_t in = s->in[0] * s->in[1] * channels, of = s->out[0] * s->out[1] * channels;
    for (int64_t i = begin; i < end; i++) {
        int64_t image = i / parts, channel = i % parts * POOL_PART, n = channels - channel < POOL_PART ? channels - channel : POOL_PART;
        int64_t from = image * in + channel, at = image * of + channel;
        if (g->x->dtype == SC_F32) {
            const float *x = (const float *)g->x->data + from, *grad = (const float *)g->grad->data + at;
            float *out = (float *)g->out->data + from;
            if (g->channels_last) pool_max_backward_channels_f32(s, channels, n, x, grad, out);
            else pool_max_backward_f32(s, x, grad, out);
        } else {
            const double *x = (const double *)g->x->data + from, *grad = (const double *)g->grad->data + at;
            double *out = (double *)g->out->data + from;
            if (g->channels_last) pool_max_backward_channels_f64(s, channels, n, x, grad, out);
            else pool_max_backward_f64(s, x, grad, out);
        }
    }
}

/* Return an image in dtype, with its channels side by side or contiguous. */
static sc_tensor *pool_prepared(sc_ctx *cx, const sc_tensor *x, int dtype, bool channels_last) {
    if (!channels_last) return image_prepared(cx, x, dtype);
    sc_tensor *wide = sc_to_dtype(cx, (sc_tensor *)x, dtype);
    return wide && !sc_is_channels_last(wide) ? image_to_channels_last(cx, wide) : wide;
}

SC_KERNEL sc_tensor *sc_max_pool2d_backward(sc_ctx *cx, const sc_tensor *grad, const sc_tensor *x, const int64_t *kernel,
                                            const int64_t *stride, const int64_t *padding, const int64_t *dilation, bool ceil_mode) {
    pool_shape s = {.kernel = {kernel[0], kernel[1]}, .stride = {stride[0], stride[1]}, .padding = {padding[0], padding[1]},
                    .dilation = {dilation[0], dilation[1]}, .max = true};
    bool fits = x->rank >= 3 && x->rank <= 4 && grad->rank == x->rank && grad->dtype == x->dtype;
    if (fits && pool_prepare(cx, x, &s, ceil_mode) < 0) return NULL;
    for (int d = 0; d < x->rank && fits; d++) fits = grad->size[d] == (d < x->rank - 2 ? x->size[d] : s.out[d - x->rank + 2]);
    if (!fits || x->dtype < SC_F16 || x->dtype > SC_F64) {
        sc_raise(cx, "RuntimeError", "a gradient of size %s is not that of pooling an input of size %s", sc_shape_text(grad).s,
                 sc_shape_text(x).s);
        return NULL;
    }
    int dtype = x->dtype == SC_F64 ? SC_F64 : SC_F32;
    bool channels_last = image_channels_last(x);
    const int64_t *n = x->size, last[4] = {n[1] * n[2] * n[3], 1, n[1] * n[3], n[1]};
    sc_tensor *in = pool_prepared(cx, x, dtype, channels_last), *of = in ? pool_prepared(cx, grad, dtype, channels_last) : NULL;
    sc_tensor *wide = !of ? NULL : channels_last ? sc_empty_strided(cx, dtype, 4, n, last) : sc_empty(cx, dtype, x->rank, n), *out = NULL;
    if (wide) {
        enum { NS = 1 }; /* of an element of a window, about */
        pool_gradient job = {&s, in, of, wide, channels_last};
        int64_t images = x->rank == 4 ? n[0] : 1, planes = x->numel ? x->numel / (s.in[0] * s.in[1]) : 0;
        int64_t count = channels_last ? images * ((n[1] + POOL_PART - 1) / POOL_PART) : planes;
        double ns = NS * (double)grad->numel * (double)(s.kernel[0] * s.kernel[1]);
        sc_parallel(cx, count, 1, ns, pool_gradient_part, &job);
        out = sc_to_dtype(cx, wide, x->dtype);
    }
    sc_release(cx, in);
    sc_release(cx, of);
    sc_release(cx, wide);
    return out;
}
