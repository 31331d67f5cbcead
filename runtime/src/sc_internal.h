/* sc_internal.h - what the runtime's own files share; generated code does not include it. */
#ifndef SC_INTERNAL_H
#define SC_INTERNAL_H

#include <stdio.h>
#include <string.h>

#include "../include/sc_ops.h"

#define SC_UNUSED __attribute__((unused))

/* A list of sizes such as "[2, 3]", as in eager's messages. */
typedef struct sc_text { char s[SC_MAX_RANK * 22 + 3]; } sc_text;

static SC_UNUSED sc_text sc_sizes_text(const int64_t *size, int rank) {
    sc_text t;
    size_t at = 0;
    t.s[at++] = '[';
    for (int d = 0; d < rank; d++)
        at += (size_t)snprintf(t.s + at, sizeof t.s - at, d ? ", %lld" : "%lld", (long long)size[d]);
    t.s[at++] = ']';
    t.s[at] = 0;
    return t;
}

static SC_UNUSED sc_text sc_shape_text(const sc_tensor *t) {
    return sc_sizes_text(t->size, t->rank);
}

/* Return the C++ name of a dtype, as eager's messages have it. */
static SC_UNUSED const char *sc_dtype_name(int dtype) {
    static const char *const names[SC_NDTYPES] = {"bool",     "unsigned char", "signed char",   "short int", "int",
                                                  "long int", "c10::Half",     "c10::BFloat16", "float",     "double",
                                                  "c10::complex<float>", "c10::complex<double>"};
    return names[dtype];
}

/* Return eager's name of a dtype, such as "Float" or "Long", for messages that do not use the C++ type. */
static SC_UNUSED const char *sc_scalar_type_name(int dtype) {
    static const char *const names[SC_NDTYPES] = {"Bool", "Byte", "Char",     "Short", "Int",
                                                  "Long", "Half", "BFloat16", "Float", "Double", "ComplexFloat", "ComplexDouble"};
    return names[dtype];
}

static inline bool sc_is_float(int dtype) {
    return dtype >= SC_F16 && dtype <= SC_F64;
}

static inline bool sc_is_complex(int dtype) {
    return dtype >= SC_C64;
}

static inline int sc_part(int dtype) { /* of complex elements: the dtype of their parts */
    return dtype == SC_C64 ? SC_F32 : SC_F64;
}

static inline bool sc_same_sizes(const int64_t *a, const int64_t *b, int rank) {
    for (int d = 0; d < rank; d++)
        if (a[d] != b[d]) return false;
    return true;
}

static inline bool sc_same_shape(const sc_tensor *a, const sc_tensor *b) {
    return a->rank == b->rank && sc_same_sizes(a->size, b->size, a->rank);
}

/* Return a * b of sizes or strides, modulo 2^64. A product may be wrong if it is no element's offset. */
static inline int64_t sc_wrapped_product(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Return the address of an element, which may be out of bounds, since empty views can begin there. */
static inline void *sc_address(const sc_tensor *x, int64_t offset) {
    return (void *)((uintptr_t)x->data + (uintptr_t)offset * sc_dtype_size(x->dtype));
}

/* Write the product of sizes >= 0 to *numel, or return false if it overflows. As in eager, a later size of 0 does not
 * undo an overflow. */
static inline bool sc_count_elements(const int64_t *size, int rank, int64_t *numel) {
    uint64_t product = 1;
    bool overflow = false;
    for (int d = 0; d < rank; d++) overflow |= __builtin_mul_overflow(product, (uint64_t)size[d], &product);
    *numel = (int64_t)product;
    return !overflow && product <= INT64_MAX;
}

/* Write the number of bytes from the first element to the end of the last to *bytes, or return false if it overflows.
 * Sizes are >= 0. */
static inline bool sc_extent_bytes(const int64_t *size, const int64_t *stride, int rank, int64_t offset, size_t item,
                                   int64_t *bytes) {
    int64_t extent, step;
    bool overflow = __builtin_add_overflow(offset, 1, &extent);
    *bytes = 0;
    for (int d = 0; d < rank; d++) {
        if (size[d] == 0) return true;
        overflow |= stride[d] < 0 || __builtin_mul_overflow(size[d] - 1, stride[d], &step) ||
                    __builtin_add_overflow(extent, step, &extent);
    }
    return !(overflow | __builtin_mul_overflow(extent, (int64_t)item, bytes));
}

/* Return a Python dim as 0..rank-1, or -1 after raising. As in eager, a tensor without dimensions counts as having
 * one. */
static inline int sc_wrap_dim(sc_ctx *cx, int64_t dim, int rank) {
    int n = rank ? rank : 1;
    if (dim >= -n && dim < n) return (int)(dim < 0 ? dim + n : dim);
    sc_raise(cx, "IndexError", "Dimension out of range (expected to be in range of [%d, %d], but got %lld)", -n, n - 1,
             (long long)dim);
    return -1;
}

/* Return the bound of a slice as Python interprets it: counted from either end, then clamped to low..high. */
static inline int64_t sc_slice_bound(int64_t i, int64_t len, int64_t low, int64_t high) {
    if (i < 0) i += len;
    return i < low ? low : i > high ? high : i;
}

/* Return the number of items in x[start:stop:step] of len items, step != 0. start and stop become offsets. */
static inline int64_t sc_slice_length(int64_t len, int64_t *start, int64_t *stop, int64_t step) {
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? len - 1 : len;
    *start = sc_slice_bound(*start, len, low, high);
    *stop = sc_slice_bound(*stop, len, low, high);
    if (step > 0) return *start < *stop ? (*stop - *start - 1) / step + 1 : 0;
    return *start > *stop ? (int64_t)((uint64_t)(*start - *stop - 1) / (0 - (uint64_t)step)) + 1 : 0;
}

/* ---- layouts (sc_layout.c) ---- */
SC_KERNEL bool sc_is_dense(const sc_tensor *t); /* no gaps and no overlap, in any order of dimensions */
SC_KERNEL bool sc_is_channels_last(const sc_tensor *t); /* rank 4, and exactly contiguous in NHWC order */
/* Order dimensions as eager's TensorIterator does: order[0] is the fastest. stride[d][o] is that of operand o of n; 0
 * if o is broadcast along d. */
SC_KERNEL void sc_order_dims(int rank, const int64_t *size, int64_t (*stride)[SC_MAX_OPERANDS], int n, int *order);
/* Write the strides of a new tensor like t in preserve_format. */
SC_KERNEL void sc_dense_strides(const sc_tensor *t, int64_t *stride);
/* Write the strides of a view of t in another shape with the same number of elements. Return false if this needs a
 * copy. */
SC_KERNEL bool sc_view_strides(const sc_tensor *t, const int64_t *size, int rank, int64_t *stride);
/* Replace a -1 in the size of x.view or x.reshape, or raise eager's error for an invalid size. */
SC_KERNEL int sc_infer_size(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank, int64_t *full);
/* Broadcast (*rank, size) with another shape, in place. */
SC_KERNEL int sc_broadcast(sc_ctx *cx, int64_t *size, int *rank, const int64_t *other, int other_rank);

/* ---- iteration through buffers (sc_iter_staging.c): makes all steps of `it` 1; -1 when memory ends ---- */
SC_KERNEL int sc_stage_begin(sc_ctx *cx, sc_iter *it, int results, sc_tensor *const *out, sc_tensor *const *in);

/* ---- elements of one size, in bytes, as they are (sc_copy_elements.c); steps and pitches count elements ---- */
SC_KERNEL void sc_move_row(size_t bytes, void *to, int64_t to_step, const void *from, int64_t from_step, int64_t n);
/* Copy like memcpy, for rows of a few KB, where calling memcpy and its choice of a method take most of the time. */
SC_KERNEL void sc_move_bytes(void *to, const void *from, size_t n);
/* Copy to[i * to_pitch + j] = from[j * from_pitch + i]. */
SC_KERNEL void sc_move_transposed(size_t bytes, void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t rows,
                                  int64_t columns);

/* ---- element conversion (sc_convert.c): steps count elements and may be 0 or negative ---- */
SC_KERNEL void sc_convert_row(void *dst, int dst_dtype, int64_t dst_step, const void *src, int src_dtype, int64_t src_step,
                              int64_t n);

#endif
