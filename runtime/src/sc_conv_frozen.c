/* sc_conv_frozen.c - conv2d of packed weights: what is added to its results, applied to them, and where they are placed. The
 * sums are those of sc_conv_packed.c, sc_conv_depthwise.c or sc_conv_winograd.c. */
#include "sc_gemm.h"
#include "sc_image.h"
#include "sc_conv_packed.h"
#include "sc_conv_winograd.h"
#include <math.h>

SC_KERNEL bool sc_suggests_channels_last(sc_tensor *const *tensors, int count) {
    for (int i = 0; i < count; i++)
        if (image_channels_last(tensors[i])) return true;
    return false;
}

static sc_conv conv_packed_sizes(const int64_t *weight) {
    return (sc_conv){.filters = weight[0], .channels = weight[1], .kernel = {weight[2], weight[3]}};
}

enum { CONV_AS_IT_IS, CONV_TRANSFORMED }; /* `k` of a packed weight; transformed: see sc_conv_winograd.h */

SC_KERNEL sc_packed *sc_pack_conv(sc_ctx *cx, sc_tensor *w, sc_tensor *bias, bool depthwise, bool dense) {
    sc_conv c = conv_packed_sizes(w->size);
    sc_tensor *weight = sc_contiguous(cx, w), *b = bias ? sc_contiguous(cx, bias) : NULL, *out = NULL;
    bool there = weight && (!bias || b), transformed = there && dense && !depthwise && sc_conv_winograd_pays(&c);
    int64_t floats = transformed ? sc_conv_winograd_floats(&c) : sc_conv_packed_floats(&c, depthwise);
    if (there) out = sc_empty(cx, SC_F32, 1, &floats);
    if (out && transformed && !sc_conv_winograd_pack(&c, (sc_conv_filters){weight->data, c.channels * 9, 9, 1}, b ? b->data : NULL, out->data)) {
        sc_release(cx, out);
        floats = sc_conv_packed_floats(&c, depthwise), transformed = false;
        out = sc_empty(cx, SC_F32, 1, &floats);
    }
    if (out && !transformed) sc_conv_pack(&c, depthwise, weight->data, b ? b->data : NULL, out->data);
    sc_release(cx, weight);
    sc_release(cx, b);
    return out ? gemm_packed_from(out, SC_F32, c.filters, transformed ? CONV_TRANSFORMED : CONV_AS_IT_IS) : NULL;
}

/* Return whether a channels-last image of these sizes is contiguous. */
static bool is_also_contiguous(const int64_t *size) {
    return size[1] == 1 || (size[2] == 1 && size[3] == 1);
}

/* Return whether x + add has the strides of x, in eager too, whose strides of a sum follow from both. */
static bool conv_adds_at_once(const sc_tensor *x, const sc_tensor *add) {
    if (add->rank != 4 || !sc_same_sizes(add->size, x->size, 4)) return false;
    if (sc_same_sizes(add->stride, x->stride, 4)) return true;
    const int64_t *size = x->size; /* with more than one element in each dim, both have one order of dims */
    return size[1] > 1 && size[2] > 1 && size[3] > 1 && sc_is_channels_last(x) && add->stride[1] == 1 && image_channels_last(add);
}

/* Return activation(clamp(x + add)), where both are broadcast. Takes over the reference to x. add_first: errors are those of
 * add + x. activation: may be NULL. */
static sc_tensor *conv_add(sc_ctx *cx, sc_tensor *x, sc_tensor *add, bool add_first, float low, float high,
                           sc_activation *activation) {
    sc_iter it;
    sc_tensor *out = NULL, *in[2] = {add_first ? add : x, add_first ? x : add};
    if (sc_iter_begin(cx, &it, 1, (int[]){SC_F32}, &out, 2, in) == 0)
        do {
            float *to = it.p[0];
            const float *a = it.p[1], *b = it.p[2];
            for (int64_t i = 0; i < it.n; i++) {
                float sum = a[i] + b[i];
                to[i] = sum < low ? low : sum > high ? high : sum;
            }
            if (activation) activation(to, 1, it.n, 0);
        } while (sc_iter_next(&it));
    sc_release(cx, x);
    return out;
}

typedef struct conv_elements { sc_activation *activation; float *x; } conv_elements;
static void conv_activate_part(void *arg, int64_t begin, int64_t end, int worker) {
    const conv_elements *all = arg;
    (void)worker;
    all->activation(all->x + begin, 1, end - begin, 0);
}

/* Apply an activation to all elements of a result, whose channels are not side by side. */
static void conv_activate(sc_ctx *cx, sc_activation *activation, sc_tensor *out) {
    enum { NS = 1 }; /* of an element, about */
    conv_elements all = {activation, out->data};
    sc_parallel(cx, out->numel, SC_ALIGN, NS * (double)out->numel, conv_activate_part, &all);
}

static sc_tensor *conv_new_result(sc_ctx *cx, const sc_conv *c, bool channels_last) {
    const int64_t size[4] = {c->images, c->filters, c->out[0], c->out[1]};
    const int64_t stride[4] = {size[1] * size[2] * size[3], 1, size[1] * size[3], size[1]};
    return channels_last ? sc_empty_strided(cx, SC_F32, 4, size, stride) : sc_empty(cx, SC_F32, 4, size);
}

/* Compute a depthwise convolution, whose kernel needs channels side by side. `add` has them if there is one. */
static int conv_packed_depthwise(sc_ctx *cx, const sc_conv *c, sc_tensor *x, sc_conv_images add, sc_tensor *out,
                                 const float *packed) {
    int status = -1;
    sc_tensor *in = sc_alias(cx, x), *sums = out->stride[1] == 1 ? sc_alias(cx, out) : conv_new_result(cx, c, true);
    if (in && in->stride[1] != 1) in = image_to_channels_last(cx, in);
    if (in && sums) {
        sc_conv_depthwise_run(cx, c, conv_images(in), conv_images(sums), add, packed);
        status = sums->data == out->data ? 0 : sc_copy_into(cx, out, sums);
    }
    sc_release(cx, in);
    sc_release(cx, sums);
    return status;
}

/* Compute sc_conv2d_packed of what a prologue, which may be NULL, makes of x. */
static sc_tensor *conv_packed(sc_ctx *cx, sc_tensor *x, const sc_packed *packed, sc_tensor *add, bool channels_last,
                              sc_activation *activation, const int64_t *weight, const int64_t *stride, const int64_t *padding,
                              const int64_t *dilation, int64_t groups, double low, double high, bool add_first, bool in_place,
                              int64_t room, int64_t at, bool placed, const sc_tensor *beside, const sc_conv_prologue *prologue) {
    if (sc_check_conv2d(cx, x, weight, stride, padding, dilation, groups) < 0) return NULL;
    sc_conv c = conv_packed_sizes(weight);
    c.images = x->size[0], c.low = (float)low, c.high = (float)high, c.prologue = prologue;
    for (int i = 0; i < 2; i++) {
        c.in[i] = x->size[2 + i], c.stride[i] = stride[i], c.padding[i] = padding[i], c.dilation[i] = dilation[i];
        c.out[i] = (c.in[i] + 2 * padding[i] - dilation[i] * (c.kernel[i] - 1) - 1) / stride[i] + 1;
    }
    const int64_t size[4] = {c.images, c.filters, c.out[0], c.out[1]};
    /* eager makes no images contiguous, and pointwise ops those that are both */
    bool is_mapped = low > -INFINITY || high < INFINITY || activation;
    if (size[0] == 0 || (is_mapped && is_also_contiguous(size))) channels_last = false;
    placed = placed && channels_last && !add && image_has_room(size, beside, room);
    sc_tensor *out = placed ? image_part(cx, size, beside, room, at) : conv_new_result(cx, &c, channels_last);
    bool fused = out && add && conv_adds_at_once(out, add) && (groups == 1 || channels_last);
    if (add && !fused) c.low = -INFINITY, c.high = INFINITY;
    else c.activation = activation;
    sc_conv_images sum = fused ? conv_images(add) : (sc_conv_images){0};
    int status = out ? 0 : -1;
    if (out && out->numel && groups > 1) status = conv_packed_depthwise(cx, &c, x, sum, out, packed->storage->data);
    else if (out && out->numel && packed->k == CONV_TRANSFORMED)
        status = sc_conv_winograd_run(cx, &c, conv_images(x), conv_images(out), sum, packed->storage->data);
    else if (out && out->numel)
        status = sc_conv_packed_run(cx, &c, conv_images(x), conv_images(out), sum, packed->storage->data);
    if (status == 0 && c.activation && groups == 1 && out->stride[1] != 1) conv_activate(cx, c.activation, out);
    if (status == 0 && add && !fused && in_place) status = sc_check_broadcast_to(cx, add, out);
    if (status < 0) {
        sc_release(cx, out);
        return NULL;
    }
    return add && !fused ? conv_add(cx, out, add, add_first, (float)low, (float)high, activation) : out;
}

/* Return whether all scales are zero or near 1, so that they may be multiplied into weights. */
static bool conv_is_moderate(const sc_tensor *scale) {
    const float *s = scale->data;
    bool moderate = true;
    for (int64_t i = 0; i < scale->numel; i++) {
        float size = s[i] < 0 ? -s[i] : s[i];
        moderate = moderate && (size == 0 || (size >= 0x1p-40f && size <= 0x1p40f));
    }
    return moderate;
}

SC_KERNEL sc_tensor *sc_conv2d_prologue(sc_ctx *cx, bool applied, sc_tensor *scale, sc_tensor *shift, double least, double most,
                                        sc_tensor *x, const sc_packed *packed, sc_tensor *add, bool channels_last,
                                        sc_activation *activation, const int64_t *weight, const int64_t *stride,
                                        const int64_t *padding, const int64_t *dilation, int64_t groups, double low, double high,
                                        bool add_first, bool in_place, int64_t room, int64_t at, bool placed,
                                        const sc_tensor *beside) {
    sc_conv_prologue prologue = {.low = (float)least, .high = (float)most};
    sc_tensor *scales = applied ? sc_contiguous(cx, scale) : NULL, *shifts = applied && shift ? sc_contiguous(cx, shift) : NULL;
    sc_tensor *out = NULL;
    if (applied && (!scales || (shift && !shifts))) goto done;
    if (applied) {
        prologue.scale = scales->data, prologue.shift = shifts ? shifts->data : NULL;
        prologue.image = scales->numel > weight[1] ? weight[1] : 0;
        prologue.may_scale_weights = !shift && least == -INFINITY && most == INFINITY && conv_is_moderate(scales);
    }
    out = conv_packed(cx, x, packed, add, channels_last, activation, weight, stride, padding, dilation, groups, low, high, add_first,
                      in_place, room, at, placed, beside, applied ? &prologue : NULL);
done:
    sc_release(cx, scales);
    sc_release(cx, shifts);
    return out;
}

SC_KERNEL sc_tensor *sc_conv2d_packed(sc_ctx *cx, sc_tensor *x, const sc_packed *packed, sc_tensor *add, bool channels_last,
                                      sc_activation *activation, const int64_t *weight, const int64_t *stride,
                                      const int64_t *padding, const int64_t *dilation, int64_t groups, double low, double high,
                                      bool add_first, bool in_place, int64_t room, int64_t at, bool placed,
                                      const sc_tensor *beside) {
    return conv_packed(cx, x, packed, add, channels_last, activation, weight, stride, padding, dilation, groups, low, high, add_first,
                       in_place, room, at, placed, beside, NULL);
}

SC_KERNEL sc_tensor *sc_place(sc_ctx *cx, sc_tensor *x, int64_t room, int64_t at, bool placed, const sc_tensor *beside) {
    if (!placed || x->rank != 4 || x->dtype != SC_F32 || !sc_is_channels_last(x) || !image_has_room(x->size, beside, room)) {
        sc_retain(x);
        return x;
    }
    sc_tensor *part = image_part(cx, x->size, beside, room, at);
    if (part && sc_copy_into(cx, part, x) < 0) {
        sc_release(cx, part);
        return NULL;
    }
    return part;
}
