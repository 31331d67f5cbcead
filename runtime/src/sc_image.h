/* sc_image.h - what convolution and pooling share. */
#ifndef SC_IMAGE_H
#define SC_IMAGE_H
#include "sc_internal.h"

/* Return whether eager's Tensor.suggest_memory_format() is channels last: strides grow in the order C, W, H, N. */
static SC_UNUSED bool image_channels_last(const sc_tensor *x) {
    static const int order[4] = {1, 3, 2, 0};
    if (x->rank != 4 || x->stride[1] == 0) return false;
    int64_t least = 0;
    for (int i = 0; i < 4; i++) {
        int d = order[i];
        if (x->size[d] == 0 || x->stride[d] < least || (d == 0 && least == x->stride[1])) return false;
        least = x->stride[d] * (x->size[d] > 1 ? x->size[d] : 1);
    }
    return true;
}

/* Return the values of x [N, C, H, W] in channels-last strides. Takes over the reference to x, which may be NULL. */
static SC_UNUSED sc_tensor *image_to_channels_last(sc_ctx *cx, sc_tensor *x) {
    if (!x) return NULL;
    const int64_t *n = x->size, stride[4] = {n[1] * n[2] * n[3], 1, n[1] * n[3], n[1]};
    sc_tensor *out = sc_empty_strided(cx, x->dtype, 4, n, stride);
    if (out && sc_copy_into(cx, out, x) < 0) {
        sc_release(cx, out);
        out = NULL;
    }
    sc_release(cx, x);
    return out;
}

/* Return whether a part of a channels-last image of `room` channels can hold an image of these sizes, beside another part unless
 * that is NULL. Images of one pixel cannot: their parts would be contiguous, so that nothing would tell them from new tensors. */
static SC_UNUSED bool image_has_room(const int64_t *size, const sc_tensor *beside, int64_t room) {
    int64_t pixels = size[0] * size[2] * size[3];
    if (room < size[1] || pixels < 2 || size[1] == 0) return false;
    if (!beside) return true;
    const int64_t *n = beside->size, *s = beside->stride;
    return beside->rank == 4 && beside->dtype == SC_F32 && n[0] == size[0] && n[2] == size[2] && n[3] == size[3] && s[1] == 1 &&
           s[3] == room && s[2] == n[3] * room && s[0] == n[2] * n[3] * room;
}
/* Return the part from channel `at` on, counted from the first channel of `beside`, or of a new image if that is NULL. */
static SC_UNUSED sc_tensor *image_part(sc_ctx *cx, const int64_t *size, const sc_tensor *beside, int64_t room, int64_t at) {
    const int64_t whole[4] = {size[0], room, size[2], size[3]}, line = size[3] * room, stride[4] = {size[2] * line, 1, line, room};
    if (beside) return sc_view_of(cx, beside, at, 4, size, stride);
    sc_tensor *image = sc_empty_strided(cx, SC_F32, 4, whole, stride), *part = NULL;
    if (image) part = sc_view_of(cx, image, at, 4, size, stride);
    sc_release(cx, image);
    return part;
}

/* Return x as [N, C, H, W]. N is 1 if x has no batch. */
static SC_UNUSED sc_tensor *image_batched(sc_ctx *cx, const sc_tensor *x) {
    return x->rank == 3 ? sc_unsqueeze(cx, x, 0) : sc_alias(cx, x);
}
static SC_UNUSED sc_tensor *image_unbatched(sc_ctx *cx, sc_tensor *x, bool drop) { /* takes over x, which may be NULL */
    if (!x || !drop) return x;
    sc_tensor *out = sc_squeeze(cx, x, 0);
    sc_release(cx, x);
    return out;
}

/* Return a contiguous tensor of x's values in dtype; x stays the caller's. */
static SC_UNUSED sc_tensor *image_prepared(sc_ctx *cx, const sc_tensor *x, int dtype) {
    sc_tensor *wide = sc_to_dtype(cx, (sc_tensor *)x, dtype), *out = wide ? sc_contiguous(cx, wide) : NULL;
    sc_release(cx, wide);
    return out;
}

/* Find the outputs o in from..to-1 whose input o * stride + offset is in 0..n-1. */
static inline void image_valid(int64_t n, int64_t outputs, int64_t stride, int64_t offset, int64_t *from, int64_t *to) {
    *from = offset < 0 ? (-offset + stride - 1) / stride : 0;
    *to = offset < n ? (n - 1 - offset) / stride + 1 : 0;
    if (*to > outputs) *to = outputs;
    if (*from > *to) *from = *to;
}

#endif
