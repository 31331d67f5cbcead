/* sc_conv.c - conv2d, conv_transpose2d and their gradients. float and double are computed by sc_conv_direct.c and
 * sc_conv_winograd.c; halves go through float; integers through plain loops of wrapping 64-bit sums. */
#include "sc_gemm.h"
#include "sc_image.h"
#include "sc_conv_direct.h"
#include "sc_conv_gradient.h"
#include "sc_conv_packed.h"
#include "sc_conv_winograd.h"
#include <math.h>

static void conv_image_i64(const conv_shape *s, const int64_t *x, const int64_t *w, const int64_t *bias, int64_t *out) {
    int64_t area = s->kernel[0] * s->kernel[1], depth = s->channels * area;
    for (int64_t f = 0; f < s->filters; f++, w += depth)
        for (int64_t p = 0; p < s->out[0] * s->out[1]; p++) {
            uint64_t sum = bias ? (uint64_t)bias[f] : 0;
            for (int64_t k = 0; k < depth; k++) {
                int64_t y = p / s->out[1] * s->stride[0] - s->padding[0] + k % area / s->kernel[1] * s->dilation[0];
                int64_t z = p % s->out[1] * s->stride[1] - s->padding[1] + k % s->kernel[1] * s->dilation[1];
                if (y >= 0 && y < s->in[0] && z >= 0 && z < s->in[1])
                    sum += (uint64_t)w[k] * (uint64_t)x[(k / area * s->in[0] + y) * s->in[1] + z];
            }
            *out++ = (int64_t)sum;
        }
}

static void conv_transposed_i64(const conv_shape *s, const int64_t *x, const int64_t *w, const int64_t *bias, int64_t *out) {
    int64_t area = s->kernel[0] * s->kernel[1], pixels = s->out[0] * s->out[1];
    for (int64_t f = 0; f < s->filters; f++)
        for (int64_t p = 0; p < pixels; p++) out[f * pixels + p] = bias ? bias[f] : 0;
    for (int64_t c = 0; c < s->channels; c++)
        for (int64_t p = 0; p < s->in[0] * s->in[1]; p++, x++)
            for (int64_t k = 0; k < s->filters * area; k++) {
                int64_t y = p / s->in[1] * s->stride[0] - s->padding[0] + k % area / s->kernel[1] * s->dilation[0];
                int64_t z = p % s->in[1] * s->stride[1] - s->padding[1] + k % s->kernel[1] * s->dilation[1];
                if (y < 0 || y >= s->out[0] || z < 0 || z >= s->out[1]) continue;
                uint64_t *to = (uint64_t *)out + (k / area * s->out[0] + y) * s->out[1] + z;
                *to += (uint64_t)w[c * s->filters * area + k] * (uint64_t)*x;
            }
}

/* ---- checks, in eager's order ---- */

static int conv_check_numbers(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const int64_t *stride, const int64_t *padding,
                              const int64_t *dilation, int64_t groups) {
    if (x->rank != 3 && x->rank != 4)
        return sc_raise(cx, "RuntimeError", "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: %s",
                        sc_shape_text(x).s);
    if (w->rank < 3) return sc_raise(cx, "RuntimeError", "weight should have at least three dimensions");
    if (w->rank != 4)
        return sc_raise(cx, "RuntimeError",
                        "expected stride to be a single integer value or a list of %d values to match the convolution "
                        "dimensions, but got stride=%s", w->rank - 2, sc_sizes_text(stride, 2).s);
    if (padding[0] < 0 || padding[1] < 0) return sc_raise(cx, "RuntimeError", "negative padding is not supported");
    if (stride[0] <= 0 || stride[1] <= 0) return sc_raise(cx, "RuntimeError", "non-positive stride is not supported");
    if (dilation[0] <= 0 || dilation[1] <= 0) return sc_raise(cx, "RuntimeError", "non-positive dilation is not supported");
    if (groups <= 0) return sc_raise(cx, "RuntimeError", "non-positive groups is not supported");
    return 0;
}

/* Offsets in padded images times the sizes of kernels and elements must fit 64 bits. */
#define MOST_PIXELS ((int64_t)1 << 50)

/* Raise for sizes that overflow, with which eager computes modulo 2^64. */
static int conv_raise_extent(sc_ctx *cx) {
    return sc_raise(cx, "RuntimeError", "the padded image or the kernel of the convolution is too large");
}

/* Write (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1 to *out, or return false if it
 * overflows. */
static bool conv_transposed_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t output_padding, int64_t dilation,
                                 int64_t *size) {
    int64_t spread, twice, extent;
    bool overflow = __builtin_mul_overflow(in - 1, stride, &spread);
    overflow |= __builtin_mul_overflow(padding, 2, &twice);
    overflow |= __builtin_mul_overflow(kernel - 1, dilation, &extent);
    overflow |= __builtin_add_overflow(spread, extent, size);
    overflow |= __builtin_sub_overflow(*size, twice, size);
    overflow |= __builtin_add_overflow(*size, output_padding, size);
    overflow |= __builtin_add_overflow(*size, 1, size);
    return !overflow;
}

static int conv_check_groups(sc_ctx *cx, const sc_tensor *w, int64_t groups) {
    sc_text weight = sc_shape_text(w);
    if (w->size[0] < groups)
        return sc_raise(cx, "RuntimeError",
                        "Given groups=%lld, expected weight to be at least %lld at dimension 0, but got weight of size %s instead",
                        (long long)groups, (long long)groups, weight.s);
    if (w->size[0] % groups == 0) return 0;
    return sc_raise(cx, "RuntimeError",
                    "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but got weight of size [%s] "
                    "instead", (long long)groups, (long long)groups, weight.s);
}

/* Check that an image has no empty dims beside the batch and the channels. x is batched. */
static int conv_check_filled(sc_ctx *cx, const sc_tensor *x) {
    if (!x->size[0] || !x->size[1] || (x->size[2] && x->size[3])) return 0;
    return sc_raise(cx, "RuntimeError", "Only zero batch or zero channel inputs are supported, but got input shape: %s",
                    sc_shape_text(x).s);
}

/* Check the shapes. x is batched, as eager's messages show it. */
static int conv_check_shapes(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias, const int64_t *padding,
                             const int64_t *dilation, int64_t groups) {
    sc_text weight = sc_shape_text(w);
    if (conv_check_groups(cx, w, groups) < 0) return -1;
    if (x->size[1] != w->size[1] * groups)
        return sc_raise(cx, "RuntimeError",
                        "Given groups=%lld, weight of size %s, expected input%s to have %lld channels, but got %lld channels instead",
                        (long long)groups, weight.s, sc_shape_text(x).s, (long long)(w->size[1] * groups), (long long)x->size[1]);
    if (bias && (bias->rank != 1 || bias->size[0] != w->size[0]))
        return sc_raise(cx, "RuntimeError",
                        "Given weight of size %s, expected bias to be 1-dimensional with %lld elements, but got bias of size %s "
                        "instead", weight.s, (long long)w->size[0], sc_shape_text(bias).s);
    int64_t padded[2], kernel[2];
    for (int i = 0; i < 2; i++) {
        if (__builtin_mul_overflow(padding[i], 2, &padded[i]) || __builtin_add_overflow(padded[i], x->size[2 + i], &padded[i]))
            return sc_raise(cx, "RuntimeError", "Given padding=%lld at dimension %d , expected padding to be at most %lld",
                            (long long)padding[i], i, (long long)(INT64_MAX / 2));
        if (__builtin_mul_overflow(dilation[i], w->size[2 + i] - 1, &kernel[i]) || __builtin_add_overflow(kernel[i], 1, &kernel[i]))
            return conv_raise_extent(cx);
    }
    int64_t area;
    if (__builtin_mul_overflow(padded[0], padded[1], &area) || area > MOST_PIXELS) return conv_raise_extent(cx);
    if (padded[0] < kernel[0] || padded[1] < kernel[1])
        return sc_raise(cx, "RuntimeError",
                        "Calculated padded input size per channel: (%lld x %lld). Kernel size: (%lld x %lld). Kernel size can't be "
                        "greater than actual input size", (long long)padded[0], (long long)padded[1], (long long)kernel[0],
                        (long long)kernel[1]);
    if (conv_check_filled(cx, x) < 0) return -1;
    if (w->size[2] == 0 || w->size[3] == 0) /* eager fails inside its library, so the message is our own */
        return sc_raise(cx, "RuntimeError", "kernels without elements are not supported: weight of size %s", weight.s);
    return 0;
}

static const char *conv_type_name(int dtype) { /* of a tensor type, as eager prints it */
    static const char *const names[SC_NDTYPES] = {
        "CPUBoolType",   "torch.ByteTensor", "torch.CharTensor", "torch.ShortTensor", "torch.IntTensor",
        "torch.LongTensor", "torch.HalfTensor", "CPUBFloat16Type", "torch.FloatTensor", "torch.DoubleTensor",
        "CPUComplexFloatType", "CPUComplexDoubleType"};
    return names[dtype];
}
static int conv_check_dtypes(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias) {
    if (x->numel == 0) return 0;
    if (bias && bias->dtype != x->dtype)
        return sc_raise(cx, "RuntimeError", "Input type (%s) and bias type (%s) should be the same", sc_dtype_name(x->dtype),
                        sc_dtype_name(bias->dtype));
    if (x->dtype == SC_BOOL) return sc_raise(cx, "NotImplementedError", "\"slow_conv2d_cpu\" not implemented for 'Bool'");
    if (x->dtype == w->dtype) return 0;
    if (x->dtype == SC_F32 || x->dtype == SC_BF16)
        return sc_raise(cx, "RuntimeError",
                        "Input type (%s) and weight type (%s) should be the same or input should be a MKLDNN tensor and weight is "
                        "a dense tensor", conv_type_name(x->dtype), conv_type_name(w->dtype));
    return sc_raise(cx, "RuntimeError", "expected scalar type %s but found %s", sc_scalar_type_name(x->dtype),
                    sc_scalar_type_name(w->dtype));
}

SC_KERNEL int sc_check_conv2d(sc_ctx *cx, const sc_tensor *x, const int64_t *weight, const int64_t *stride, const int64_t *padding,
                              const int64_t *dilation, int64_t groups) {
    sc_tensor like = {.dtype = SC_F32, .rank = 4, .size = {weight[0], weight[1], weight[2], weight[3]}};
    if (conv_check_numbers(cx, x, &like, stride, padding, dilation, groups) < 0) return -1;
    return conv_check_shapes(cx, x, &like, NULL, padding, dilation, groups);
}

/* ---- the operations ---- */

static void conv_run_i64(const conv_shape *s, int64_t groups, bool transposed, const sc_tensor *x, const sc_tensor *w,
                         const sc_tensor *bias, sc_tensor *out) {
    int64_t x_step = s->channels * s->in[0] * s->in[1], out_step = s->filters * s->out[0] * s->out[1];
    int64_t w_step = s->filters * s->channels * s->kernel[0] * s->kernel[1], *to = out->data;
    const int64_t *from = x->data;
    for (int64_t i = 0; i < x->size[0] * groups; i++, from += x_step, to += out_step) {
        const int64_t *weight = (const int64_t *)w->data + i % groups * w_step;
        const int64_t *b = bias ? (const int64_t *)bias->data + i % groups * s->filters : NULL;
        (transposed ? conv_transposed_i64 : conv_image_i64)(s, from, weight, b, to);
    }
}

/* Compute a convolution into `out` [batch, groups * filters, ...]. All tensors are contiguous and of dtype f32, f64 or
 * i64. */
static int conv_run_all(sc_ctx *cx, const conv_shape *s, int dtype, int64_t groups, bool transposed, const sc_tensor *x,
                        const sc_tensor *w, const sc_packed *arranged, const sc_tensor *bias, sc_tensor *out) {
    if (dtype == SC_I64) {
        conv_run_i64(s, groups, transposed, x, w, bias, out);
        return 0;
    }
    if (transposed && arranged) return conv_transposed(cx, s, dtype, groups, x, arranged->storage->data, bias, out);
    if (transposed) {
        sc_tensor *made = conv_arrange(cx, s, groups, w);
        int status = made ? conv_transposed(cx, s, dtype, groups, x, made->data, bias, out) : -1;
        sc_release(cx, made);
        return status;
    }
    return conv_forward(cx, s, dtype, groups, x, w, bias, out);
}

enum { CONV_LEAST_POSITIONS = 128 }; /* for which transforming a weight that may change pays */

/* Return whether a convolution of float images without groups is worth transforming its weight in each call. */
static bool conv_is_transformed(const conv_shape *s, int dtype, int64_t groups, int64_t images) {
    sc_conv c = {.channels = s->channels, .filters = s->filters, .kernel = {s->kernel[0], s->kernel[1]}};
    bool dense = s->stride[0] == 1 && s->stride[1] == 1 && s->dilation[0] == 1 && s->dilation[1] == 1;
    return dtype == SC_F32 && groups == 1 && dense && images * s->out[0] * s->out[1] >= CONV_LEAST_POSITIONS &&
           sc_conv_winograd_pays(&c);
}

/* Compute such a convolution of images x of any strides. Return 1, *out, if the weight is finite; 0 if it is not; -1 where memory
 * ends. channels_last: the strides of the result. */
static int conv_transformed(sc_ctx *cx, const conv_shape *s, const sc_tensor *x, sc_conv_filters weight, const float *bias,
                            bool channels_last, sc_tensor **out) {
    sc_conv c = {.images = x->size[0], .channels = s->channels, .filters = s->filters, .low = -INFINITY, .high = INFINITY};
    for (int i = 0; i < 2; i++) {
        c.in[i] = s->in[i], c.out[i] = s->out[i], c.kernel[i] = s->kernel[i], c.padding[i] = s->padding[i];
        c.stride[i] = c.dilation[i] = 1;
    }
    int64_t floats = sc_conv_winograd_floats(&c);
    sc_tensor *packed = sc_empty(cx, SC_F32, 1, &floats), *in = NULL, *sums = NULL;
    int status = packed ? 0 : -1;
    if (packed && sc_conv_winograd_pack(&c, weight, bias, packed->data)) {
        const int64_t size[4] = {c.images, c.filters, c.out[0], c.out[1]};
        const int64_t stride[4] = {size[1] * size[2] * size[3], 1, size[1] * size[3], size[1]};
        in = sc_alias(cx, x), status = -1;
        if (in && in->stride[1] != 1) in = image_to_channels_last(cx, in); /* transforms read vectors of channels */
        if (in) sums = sc_empty_strided(cx, SC_F32, 4, size, stride);
        if (sums && sc_conv_winograd_run(cx, &c, conv_images(in), conv_images(sums), (sc_conv_images){0}, packed->data) == 0)
            *out = channels_last ? sc_alias(cx, sums) : sc_contiguous(cx, sums), status = *out ? 1 : -1;
    }
    sc_release(cx, packed);
    sc_release(cx, in);
    sc_release(cx, sums);
    return status;
}

/* Compute a convolution by the kernel of transformed weights, if that pays and the weight is finite; see conv_transformed. */
static int conv_try_transformed(sc_ctx *cx, const conv_shape *s, int64_t groups, const sc_tensor *x, const sc_tensor *w,
                                const sc_tensor *bias, sc_tensor **out) {
    if (x->numel == 0 || w->dtype != SC_F32 || !conv_is_transformed(s, x->dtype, groups, x->size[0])) return 0;
    sc_tensor *weight = sc_contiguous(cx, (sc_tensor *)w), *b = bias ? sc_contiguous(cx, (sc_tensor *)bias) : NULL;
    int status = -1;
    if (weight && (!bias || b))
        status = conv_transformed(cx, s, x, (sc_conv_filters){weight->data, s->channels * 9, 9, 1}, b ? b->data : NULL,
                                  image_channels_last(x) || image_channels_last(w), out);
    sc_release(cx, weight);
    sc_release(cx, b);
    return status;
}

/* Return a convolution of checked operands; x is batched. arranged: see sc_conv_transpose2d. */
static sc_tensor *conv_compute(sc_ctx *cx, const conv_shape *s, int64_t groups, bool transposed, const sc_tensor *x,
                               const sc_tensor *w, const sc_packed *arranged, const sc_tensor *bias) {
    int dtype = x->dtype == SC_F64 ? SC_F64 : x->dtype >= SC_F16 ? SC_F32 : SC_I64;
    sc_tensor *made = NULL;
    int status = transposed ? 0 : conv_try_transformed(cx, s, groups, x, w, bias, &made);
    if (status != 0) return status > 0 ? made : NULL;
    /* no input channels give no output channels, as in eager */
    int64_t size[4] = {x->size[0], x->size[1] ? groups * s->filters : 0, s->out[0], s->out[1]};
    sc_tensor *wide = sc_empty(cx, dtype, 4, size), *out = NULL, *in = NULL, *weight = NULL, *b = NULL;
    if (!wide) return NULL;
    bool ready = wide->numel == 0;
    if (!ready && (in = image_prepared(cx, x, dtype)) && (weight = image_prepared(cx, w, dtype)) &&
        (!bias || (b = image_prepared(cx, bias, dtype))))
        ready = conv_run_all(cx, s, dtype, groups, transposed, in, weight, arranged, b, wide) == 0;
    if (ready) out = sc_to_dtype(cx, wide, x->dtype);
    sc_release(cx, in);
    sc_release(cx, weight);
    sc_release(cx, b);
    sc_release(cx, wide);
    return image_channels_last(x) || image_channels_last(w) ? image_to_channels_last(cx, out) : out;
}

static conv_shape conv_shape_of(const sc_tensor *batch, const sc_tensor *w, const int64_t *stride, const int64_t *padding,
                                const int64_t *dilation) {
    conv_shape s;
    for (int i = 0; i < 2; i++) {
        s.in[i] = batch->size[2 + i], s.kernel[i] = w->size[2 + i];
        s.stride[i] = stride[i], s.padding[i] = padding[i], s.dilation[i] = dilation[i];
    }
    return s;
}

SC_KERNEL sc_tensor *sc_conv2d(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias, const int64_t *stride,
                               const int64_t *padding, const int64_t *dilation, int64_t groups) {
    if (conv_check_numbers(cx, x, w, stride, padding, dilation, groups) < 0) return NULL;
    sc_tensor *batch = image_batched(cx, x), *out = NULL;
    if (!batch) return NULL;
    if (conv_check_shapes(cx, batch, w, bias, padding, dilation, groups) == 0 && conv_check_dtypes(cx, batch, w, bias) == 0) {
        conv_shape s = conv_shape_of(batch, w, stride, padding, dilation);
        s.channels = w->size[1], s.filters = w->size[0] / groups;
        for (int i = 0; i < 2; i++)
            s.out[i] = (s.in[i] + 2 * padding[i] - dilation[i] * (s.kernel[i] - 1) - 1) / stride[i] + 1;
        out = image_unbatched(cx, conv_compute(cx, &s, groups, false, batch, w, NULL, bias), x->rank == 3);
    }
    sc_release(cx, batch);
    return out;
}

static int conv_check_transposed(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias, const int64_t *output_padding,
                                 const int64_t *stride, const int64_t *dilation, int64_t groups) {
    if (conv_check_groups(cx, w, groups) < 0) return -1;
    if (x->size[1] != w->size[0])
        return sc_raise(cx, "RuntimeError",
                        "Given transposed=1, weight of size %s, expected input%s to have %lld channels, but got %lld channels instead",
                        sc_shape_text(w).s, sc_shape_text(x).s, (long long)w->size[0], (long long)x->size[1]);
    if (bias && (bias->rank != 1 || bias->size[0] != w->size[1] * groups))
        return sc_raise(cx, "RuntimeError",
                        "Given transposed=1, weight of size %s, expected bias to be 1-dimensional with %lld elements, but got bias of "
                        "size %s instead", sc_shape_text(w).s, (long long)(w->size[1] * groups), sc_shape_text(bias).s);
    if (conv_check_filled(cx, x) < 0) return -1;
    if (w->size[1] == 0)
        return sc_raise(cx, "RuntimeError", "non-empty 2D or 4D weight tensor expected, but got: %s", sc_shape_text(w).s);
    for (int i = 0; i < 2; i++) {
        if (output_padding[i] < 0) return sc_raise(cx, "RuntimeError", "negative output_padding is not supported");
        if (output_padding[i] >= stride[i] && output_padding[i] >= dilation[i])
            return sc_raise(cx, "RuntimeError",
                            "output padding must be smaller than either stride or dilation, but got output_padding_height: %lld "
                            "output_padding_width: %lld stride_height: %lld stride_width: %lld dilation_height: %lld dilation_width: "
                            "%lld", (long long)output_padding[0], (long long)output_padding[1], (long long)stride[0],
                            (long long)stride[1], (long long)dilation[0], (long long)dilation[1]);
    }
    if (w->size[2] == 0 || w->size[3] == 0)
        return sc_raise(cx, "RuntimeError", "kernels without elements are not supported: weight of size %s", sc_shape_text(w).s);
    return 0;
}

SC_KERNEL sc_tensor *sc_conv_transpose2d(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias,
                                         const sc_packed *arranged, const int64_t *stride, const int64_t *padding,
                                         const int64_t *output_padding, int64_t groups, const int64_t *dilation) {
    if (conv_check_numbers(cx, x, w, stride, padding, dilation, groups) < 0) return NULL;
    sc_tensor *batch = image_batched(cx, x), *out = NULL;
    if (!batch) return NULL;
    if (conv_check_transposed(cx, batch, w, bias, output_padding, stride, dilation, groups) == 0 &&
        conv_check_dtypes(cx, batch, w, bias) == 0) {
        conv_shape s = conv_shape_of(batch, w, stride, padding, dilation);
        s.channels = w->size[0] / groups, s.filters = w->size[1];
        bool fits = true, held = true;
        for (int i = 0; i < 2; i++) {
            held &= conv_transposed_size(s.in[i], s.kernel[i], stride[i], padding[i], output_padding[i], dilation[i], &s.out[i]);
            fits = fits && s.out[i] > 0;
        }
        if (!held) conv_raise_extent(cx);
        else if (fits) out = image_unbatched(cx, conv_compute(cx, &s, groups, true, batch, w, arranged, bias), x->rank == 3);
        else
            sc_raise(cx, "RuntimeError",
                     "Given input size per channel: (%lld x %lld). Calculated output size per channel: (%lld x %lld). Output size is too "
                     "small", (long long)s.in[0], (long long)s.in[1], (long long)s.out[0], (long long)s.out[1]);
    }
    sc_release(cx, batch);
    return out;
}

SC_KERNEL sc_packed *sc_arrange_transposed(sc_ctx *cx, const sc_tensor *w, const int64_t *stride, const int64_t *padding,
                                           int64_t groups, const int64_t *dilation) {
    bool fits = stride[0] > 0 && stride[1] > 0 && dilation[0] > 0 && dilation[1] > 0 && groups > 0 && w->size[0] % groups == 0;
    sc_tensor *whole = NULL, *out = NULL;
    if (!fits) out = sc_empty(cx, w->dtype, 1, (int64_t[]){0}); /* the convolution will raise the error */
    else if ((whole = sc_contiguous(cx, (sc_tensor *)w))) {
        conv_shape s = conv_shape_of(w, w, stride, padding, dilation);
        s.channels = w->size[0] / groups, s.filters = w->size[1];
        out = conv_arrange(cx, &s, groups, whole);
    }
    sc_release(cx, whole);
    return out ? gemm_packed_from(out, w->dtype, w->size[0], w->size[1]) : NULL;
}

SC_KERNEL sc_packed *sc_arrange_transposed_kept(sc_ctx *cx, const sc_tensor *w, const int64_t *stride, const int64_t *padding,
                                                int64_t groups, const int64_t *dilation, int64_t slot) {
    sc_packed *arranged = (sc_packed *)(void *)sc_ctx_kept(cx, (int)slot);
    if (arranged) return arranged;
    arranged = sc_arrange_transposed(cx, w, stride, padding, groups, dilation);
    return arranged && sc_ctx_keep(cx, (int)slot, &arranged->obj, &arranged->storage, NULL) == 0 ? arranged : NULL;
}

/* ---- gradients ---- */

/* Check the operands of a gradient: x are the sizes of the images that were convolved by a weight of the sizes of w, and y is the
 * gradient of the result, which may have fewer rows and columns than the convolution, as inputs of transposed ones do. */
static int conv_check_gradient(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *y, int dtype, const int64_t *stride,
                               const int64_t *padding, const int64_t *dilation, int64_t groups) {
    if (conv_check_numbers(cx, x, w, stride, padding, dilation, groups) < 0) return -1;
    if (conv_check_shapes(cx, x, w, NULL, padding, dilation, groups) < 0) return -1;
    if (dtype < SC_F16 || dtype == SC_C64 || dtype == SC_C128)
        return sc_raise(cx, "NotImplementedError", "\"slow_conv2d_grad_input\" not implemented for '%s'", sc_scalar_type_name(dtype));
    if (y->dtype != dtype)
        return sc_raise(cx, "RuntimeError", "expected scalar type %s but found %s", sc_scalar_type_name(dtype), sc_scalar_type_name(y->dtype));
    bool fits = y->rank == 4 && y->size[0] == x->size[0] && y->size[1] == w->size[0];
    for (int i = 0; i < 2 && fits; i++) {
        int64_t most = (x->size[2 + i] + 2 * padding[i] - dilation[i] * (w->size[2 + i] - 1) - 1) / stride[i] + 1;
        fits = y->size[2 + i] <= most;
    }
    if (fits) return 0;
    return sc_raise(cx, "RuntimeError", "a gradient of size %s is not that of a convolution of an input of size %s by a weight of size %s",
                    sc_shape_text(y).s, sc_shape_text(x).s, sc_shape_text(w).s);
}

/* Compute the gradient of images by one of the kernels: that of transformed weights for the reversed filters, if it pays. y and w
 * are of dtype f32 or f64, and w is contiguous. s->in: of y. */
static sc_tensor *conv_input_gradient(sc_ctx *cx, const conv_shape *s, int dtype, int64_t groups, const sc_tensor *y,
                                      const sc_tensor *w) {
    sc_tensor *made = NULL;
    if (s->padding[0] < 3 && s->padding[1] < 3 && conv_is_transformed(s, dtype, groups, y->size[0])) {
        conv_shape reversed = *s;
        for (int i = 0; i < 2; i++) reversed.padding[i] = 2 - s->padding[i];
        sc_conv_filters filters = {(const float *)w->data + 8, 9, s->filters * 9, -1};
        int status = conv_transformed(cx, &reversed, y, filters, NULL, false, &made);
        if (status != 0) return status > 0 ? made : NULL;
    }
    int64_t size[4] = {y->size[0], groups * s->filters, s->out[0], s->out[1]};
    sc_tensor *arranged = conv_arrange(cx, s, groups, w), *grad = arranged ? sc_contiguous(cx, (sc_tensor *)y) : NULL;
    sc_tensor *out = grad ? sc_empty(cx, dtype, 4, size) : NULL;
    if (out && conv_transposed(cx, s, dtype, groups, grad, arranged->data, NULL, out) < 0) {
        sc_release(cx, out);
        out = NULL;
    }
    sc_release(cx, arranged);
    sc_release(cx, grad);
    return out;
}

SC_KERNEL sc_tensor *sc_conv2d_backward_input(sc_ctx *cx, const sc_tensor *y, const sc_tensor *w, int64_t height, int64_t width,
                                              const int64_t *stride, const int64_t *padding, const int64_t *dilation, int64_t groups) {
    int64_t channels = w->rank == 4 && groups > 0 ? sc_wrapped_product(w->size[1], groups) : 0;
    sc_tensor like = {.dtype = w->dtype, .rank = 4, .size = {y->size[0], channels, height, width}};
    if (conv_check_gradient(cx, &like, w, y, w->dtype, stride, padding, dilation, groups) < 0) return NULL;
    int dtype = w->dtype == SC_F64 ? SC_F64 : SC_F32;
    sc_tensor *grad = sc_to_dtype(cx, (sc_tensor *)y, dtype), *weight = grad ? image_prepared(cx, w, dtype) : NULL, *wide = NULL;
    if (weight && (y->numel == 0 || w->numel == 0)) wide = sc_full(cx, dtype, like.size, 4, 0, 0);
    else if (weight) {
        conv_shape s = conv_shape_of(y, w, stride, padding, dilation);
        s.channels = w->size[0] / groups, s.filters = w->size[1], s.out[0] = height, s.out[1] = width;
        wide = height && width ? conv_input_gradient(cx, &s, dtype, groups, grad, weight) : sc_empty(cx, dtype, 4, like.size);
    }
    sc_tensor *out = wide ? sc_to_dtype(cx, wide, w->dtype) : NULL;
    sc_release(cx, grad);
    sc_release(cx, weight);
    sc_release(cx, wide);
    return out;
}

SC_KERNEL sc_tensor *sc_conv2d_backward_weight(sc_ctx *cx, const sc_tensor *x, const sc_tensor *y, int64_t height, int64_t width,
                                               const int64_t *stride, const int64_t *padding, const int64_t *dilation, int64_t groups) {
    int64_t channels = x->rank == 4 && groups > 0 ? x->size[1] / groups : 0, filters = y->rank > 1 ? y->size[1] : 0;
    sc_tensor like = {.dtype = x->dtype, .rank = 4, .size = {filters, channels, height, width}};
    if (conv_check_gradient(cx, x, &like, y, x->dtype, stride, padding, dilation, groups) < 0) return NULL;
    int dtype = x->dtype == SC_F64 ? SC_F64 : SC_F32, status = -1;
    sc_tensor *in = sc_to_dtype(cx, (sc_tensor *)x, dtype), *grad = in ? sc_to_dtype(cx, (sc_tensor *)y, dtype) : NULL, *out = NULL;
    sc_tensor *wide = grad ? sc_empty(cx, dtype, 4, like.size) : NULL;
    if (wide && (x->numel == 0 || y->numel == 0)) {
        memset(wide->data, 0, (size_t)wide->numel * sc_dtype_size(dtype));
        status = 0;
    } else if (wide) {
        conv_shape s = conv_shape_of(x, &like, stride, padding, dilation);
        s.channels = channels, s.filters = filters / groups, s.out[0] = y->size[2], s.out[1] = y->size[3];
        status = conv_weight_gradient(cx, &s, groups, in, grad, wide);
    }
    if (status == 0) out = sc_to_dtype(cx, wide, x->dtype);
    sc_release(cx, in);
    sc_release(cx, grad);
    sc_release(cx, wide);
    return out;
}
