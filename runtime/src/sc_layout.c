/* sc_layout.c - shapes and strides: broadcasting, views, and the strides that eager gives to new tensors. */
#include "sc_internal.h"

SC_KERNEL int sc_broadcast(sc_ctx *cx, int64_t *size, int *rank, const int64_t *other, int other_rank) {
    int wide = other_rank > *rank ? other_rank : *rank;
    for (int i = 1; i <= wide; i++) { /* from the last dimension to the first */
        int64_t a = i <= *rank ? size[*rank - i] : 1, b = i <= other_rank ? other[other_rank - i] : 1;
        if (a != b && a != 1 && b != 1)
            return sc_raise(cx, "RuntimeError",
                            "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %d",
                            (long long)a, (long long)b, wide - i);
    }
    int shift = wide - *rank;
    for (int d = wide; d-- > 0;) {
        int64_t a = d >= shift ? size[d - shift] : 1, b = d >= wide - other_rank ? other[d - (wide - other_rank)] : 1;
        size[d] = a == 1 ? b : a;
    }
    *rank = wide;
    return 0;
}

/* Return a negative number if dim a is faster than b, a positive one if it is slower, 0 if the strides do not tell. */
static int compare_dims(const int64_t *size, int64_t (*stride)[SC_MAX_OPERANDS], int n, int a, int b) {
    for (int o = 0; o < n; o++) {
        int64_t sa = stride[a][o], sb = stride[b][o];
        if (sa == 0 || sb == 0) continue;
        if (sa != sb) return sa < sb ? -1 : 1;
        if (size[a] > size[b]) return 1;
    }
    return 0;
}

SC_KERNEL void sc_order_dims(int rank, const int64_t *size, int64_t (*stride)[SC_MAX_OPERANDS], int n, int *order) {
    for (int i = 0; i < rank; i++) order[i] = rank - 1 - i;
    /* This insertion sort skips dimensions that it cannot compare, so that ties are broken as in eager. */
    for (int i = 1; i < rank; i++) {
        for (int moved = i, j = i - 1; j >= 0; j--) {
            int c = compare_dims(size, stride, n, order[j], order[moved]);
            if (c < 0) break;
            if (c == 0) continue;
            int dim = order[j];
            order[j] = order[moved];
            order[moved] = dim;
            moved = j;
        }
    }
}

SC_KERNEL bool sc_is_channels_last(const sc_tensor *t) {
    static const int8_t order[4] = {1, 3, 2, 0};
    if (t->rank != 4) return false;
    int64_t expected = 1;
    for (int i = 0; i < 4; i++) {
        int d = order[i];
        if (t->size[d] == 1) continue;
        if (t->stride[d] != expected) return false;
        expected = sc_wrapped_product(expected, t->size[d]);
    }
    return true;
}

SC_KERNEL bool sc_is_dense(const sc_tensor *t) {
    if (sc_is_contiguous(t)) return true;
    int64_t expected = 1;
    uint32_t left = (1u << t->rank) - 1;
    for (int d = 0; d < t->rank; d++)
        if (t->size[d] == 1) left &= ~(1u << d);
    while (left) {
        int found = -1;
        for (int d = 0; d < t->rank && found < 0; d++)
            if (left >> d & 1 && t->stride[d] == expected) found = d;
        if (found < 0) return false;
        expected = sc_wrapped_product(expected, t->size[found]);
        left &= ~(1u << found);
    }
    return true;
}

SC_KERNEL void sc_dense_strides(const sc_tensor *t, int64_t *stride) {
    if (sc_is_dense(t)) {
        memcpy(stride, t->stride, t->rank * sizeof *stride);
        return;
    }
    int64_t one_operand[SC_MAX_RANK][SC_MAX_OPERANDS], next = 1;
    int order[SC_MAX_RANK];
    for (int d = 0; d < t->rank; d++) one_operand[d][0] = t->stride[d];
    sc_order_dims(t->rank, t->size, one_operand, 1, order);
    for (int i = 0; i < t->rank; i++) {
        stride[order[i]] = next;
        if (t->size[order[i]] > 1) next = sc_wrapped_product(next, t->size[order[i]]);
    }
}

SC_KERNEL bool sc_view_strides(const sc_tensor *t, const int64_t *size, int rank, int64_t *stride) {
    if (t->numel == 0 && t->rank == rank && sc_same_sizes(t->size, size, rank)) {
        memcpy(stride, t->stride, (size_t)rank * sizeof *stride);
        return true;
    }
    if (t->numel == 0 || t->rank == 0) {
        int64_t next = 1;
        for (int d = rank; d-- > 0;) {
            stride[d] = next;
            next = sc_wrapped_product(next, size[d] > 1 ? size[d] : 1);
        }
        return true;
    }
    /* Cut t's dimensions into runs that are evenly spaced; each new dimension must lie within one run. */
    int to = rank - 1;
    for (int from = t->rank - 1; from >= 0;) {
        int64_t spacing = t->stride[from], run = t->size[from], taken = 1;
        for (from--; from >= 0 && (t->size[from] == 1 || t->stride[from] == sc_wrapped_product(run, spacing)); from--)
            run = sc_wrapped_product(run, t->size[from]);
        for (; to >= 0 && (taken < run || size[to] == 1); to--) {
            stride[to] = sc_wrapped_product(taken, spacing);
            taken = sc_wrapped_product(taken, size[to]);
        }
        if (taken != run) return false;
    }
    return to < 0;
}

SC_KERNEL int sc_infer_size(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank, int64_t *full) {
    int inferred = -1;
    uint64_t known = 1, numel = (uint64_t)x->numel;
    bool overflow = false;
    for (int d = 0; d < rank; d++) {
        full[d] = size[d];
        if (size[d] == -1 && inferred >= 0) return sc_raise(cx, "RuntimeError", "only one dimension can be inferred");
        if (size[d] < -1)
            return sc_raise(cx, "RuntimeError", "invalid shape dimension %lld at index %d of shape %s", (long long)size[d], d,
                            sc_sizes_text(size, rank).s);
        if (size[d] == -1) inferred = d;
        else overflow |= __builtin_mul_overflow(known, (uint64_t)size[d], &known);
    }
    if (overflow && x->numel == 0) return sc_raise(cx, "RuntimeError", "numel: integer multiplication overflow");
    if (!overflow && inferred < 0 && known == numel) return 0;
    if (overflow || inferred < 0 || (known ? numel % known != 0 : numel != 0))
        return sc_raise(cx, "RuntimeError", "shape '%s' is invalid for input of size %lld", sc_sizes_text(size, rank).s,
                        (long long)x->numel);
    if (known == 0)
        return sc_raise(cx, "RuntimeError",
                        "cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size -1 can be "
                        "any value and is ambiguous",
                        sc_sizes_text(size, rank).s);
    full[inferred] = (int64_t)(numel / known);
    return 0;
}

typedef enum sc_overlap { OVERLAP_NONE, OVERLAP_PARTIAL, OVERLAP_FULL, OVERLAP_UNKNOWN } sc_overlap;

/* Return whether a and b share elements. As in eager, this is unknown for tensors with gaps. */
static sc_overlap overlap_of(const sc_tensor *a, const sc_tensor *b) {
    if (a == b) return OVERLAP_FULL;
    if (a->numel == 0 || b->numel == 0) return OVERLAP_NONE;
    if (!sc_is_dense(a) || !sc_is_dense(b)) return OVERLAP_UNKNOWN;
    uintptr_t a_begin = (uintptr_t)a->data, a_end = a_begin + (size_t)a->numel * sc_dtype_size(a->dtype);
    uintptr_t b_begin = (uintptr_t)b->data, b_end = b_begin + (size_t)b->numel * sc_dtype_size(b->dtype);
    if (a_begin >= b_end || b_begin >= a_end) return OVERLAP_NONE;
    bool same = a_begin == b_begin && a_end == b_end && a->rank == b->rank && sc_same_sizes(a->stride, b->stride, a->rank);
    return same ? OVERLAP_FULL : OVERLAP_PARTIAL;
}

SC_KERNEL int sc_check_overlap(sc_ctx *cx, const sc_tensor *dst, const sc_tensor *src, bool apart) {
    sc_overlap found = overlap_of(dst, src);
    if (found != OVERLAP_PARTIAL && !(apart && found == OVERLAP_FULL)) return 0;
    return sc_raise(cx, "RuntimeError",
                    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                    "location. Please clone() the tensor before performing the operation.");
}

SC_KERNEL int sc_check_writable(sc_ctx *cx, const sc_tensor *dst, const sc_tensor *const *src, int n) {
    if (dst->storage->flags & SC_READONLY) return sc_raise(cx, "RuntimeError", "cannot write to a read-only tensor");
    if (!sc_is_dense(dst))
        for (int d = 0; d < dst->rank; d++)
            if (dst->stride[d] == 0 && dst->size[d] > 1)
                return sc_raise(cx, "RuntimeError",
                                "unsupported operation: more than one element of the written-to tensor refers to a single "
                                "memory location. Please clone() the tensor before performing the operation.");
    for (int i = 0; i < n; i++)
        if (src[i] && sc_check_overlap(cx, dst, src[i], false)) return -1;
    return 0;
}
