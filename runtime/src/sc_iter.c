/* sc_iter.c - pointwise iteration: shapes, the results' strides, and loops in the order of memory.
 *
 * Results get the strides that eager's TensorIterator gives them. The common cases (everything contiguous in one
 * shape; numbers; a bias along the last dimensions) are recognized first and set up in tens of nanoseconds. */
#include "sc_internal.h"

/* Return whether t is contiguous and its strides do not grow from one dimension to the next, even at dimensions of size
 * 1. If so, every result's strides are the default ones. */
static inline bool is_plain(const sc_tensor *t) {
    int64_t expected = 1, inner = 0;
    for (int d = t->rank; d-- > 0; inner = t->stride[d]) {
        if (t->stride[d] < inner || (t->stride[d] != expected && (t->size[d] != 1 || t->stride[d] < expected))) return false;
        expected = sc_wrapped_product(expected, t->size[d]);
    }
    return t->numel > 0;
}

static inline bool has_new_strides(const sc_tensor *t) {
    int64_t expected = 1;
    for (int d = t->rank; d-- > 0; expected = sc_wrapped_product(expected, t->size[d]))
        if (t->stride[d] != expected) return false;
    return true;
}

static inline void set_operand(sc_iter *it, int o, const sc_tensor *t, int64_t step, int64_t outer) {
    it->p[o] = t ? t->data : it; /* any pointer that allows arithmetic */
    it->step[o] = step;
    it->stride[0][o] = outer;
}

/* Return the number of elements of `full` that t covers: all, those of some last dimensions, one, or 0 if t is none of
 * these. */
static inline int64_t covered(const sc_tensor *full, const sc_tensor *t) {
    int skip = 0;
    while (skip < t->rank && t->size[skip] == 1) skip++;
    int rank = t->rank - skip;
    return t->rank <= full->rank && sc_same_sizes(t->size + skip, full->size + full->rank - rank, rank) ? t->numel : 0;
}

/* Return whether t is a matrix of the sizes of `full` with contiguous rows, which may have gaps between them. */
static inline bool has_plain_rows(const sc_tensor *full, const sc_tensor *t) {
    bool rows = t->rank == 2 && full->rank == 2 && t->size[1] > 1 && t->stride[1] == 1 && t->stride[0] >= t->size[1];
    return rows && sc_same_sizes(t->size, full->size, 2);
}

/* Set up one inner loop and at most one outer one, without the results. Return false unless all operands are plain or
 * have plain rows. */
static bool begin_plain(sc_iter *it, const sc_tensor *full, int first, int n_in, sc_tensor *const *in) {
    int64_t inner = full->numel;
    bool apart[SC_MAX_OPERANDS];
    for (int i = 0; i < n_in; i++) {
        if (!in[i]) continue;
        apart[i] = !is_plain(in[i]);
        int64_t n = !apart[i] ? covered(full, in[i]) : has_plain_rows(full, in[i]) ? in[i]->size[1] : 0;
        if (n == 0) return false;
        if (n == 1 || n == full->numel || n == inner) continue;
        if (inner != full->numel) return false;
        inner = n;
    }
    int64_t outer = full->numel / inner;
    it->operands = first + n_in;
    it->n = inner;
    it->rank = outer > 1;
    it->size[0] = outer;
    it->at[0] = 0;
    it->unit = true;
    for (int i = 0; i < n_in; i++) {
        const sc_tensor *t = in[i];
        int64_t n = t ? t->numel : 0, step = n > 1 || inner == 1;
        int64_t across = n < full->numel ? 0 : apart[i] ? t->stride[0] : inner;
        set_operand(it, first + i, t, step, t ? across * (int64_t)sc_dtype_size(t->dtype) : 0);
        if (t && step != 1) it->unit = false;
    }
    return true;
}

static void set_plain_result(sc_iter *it, int o, const sc_tensor *t) {
    set_operand(it, o, t, 1, it->n * (int64_t)sc_dtype_size(t->dtype));
}

/* ---- the general case ---- */

typedef struct iter_layout {
    int rank;
    int64_t size[SC_MAX_RANK];
    int64_t stride[SC_MAX_RANK][SC_MAX_OPERANDS]; /* in bytes, 0 where broadcast */
    int order[SC_MAX_RANK];                       /* fastest first */
} iter_layout;

static void put_strides(iter_layout *l, int o, const sc_tensor *t) {
    int shift = l->rank - (t ? t->rank : 0);
    for (int d = 0; d < l->rank; d++) {
        bool spread = d < shift || (t->size[d - shift] == 1 && l->size[d] != 1);
        l->stride[d][o] = spread ? 0 : t->stride[d - shift] * (int64_t)sc_dtype_size(t->dtype);
    }
}

static void scalar_layout(iter_layout *l) {
    l->rank = 0;
    memset(l->size, 0, sizeof l->size);
}

static int join_shapes(sc_ctx *cx, iter_layout *l, int n_in, sc_tensor *const *in) {
    for (int i = 0; i < n_in; i++)
        if (in[i] && sc_broadcast(cx, l->size, &l->rank, in[i]->size, in[i]->rank)) return -1;
    int64_t numel;
    if (sc_count_elements(l->size, l->rank, &numel)) return 0;
    return sc_raise(cx, "RuntimeError", "Storage size calculation overflowed with sizes=%s", sc_sizes_text(l->size, l->rank).s);
}

typedef enum result_format { RESULT_CONTIGUOUS, RESULT_CHANNELS_LAST, RESULT_SAME_STRIDES, RESULT_BY_ORDER } result_format;

static result_format choose_format(const iter_layout *l, int n_in, sc_tensor *const *in) {
    bool contiguous = true, channels_last = true, same = true;
    for (int i = 0; i < n_in; i++) {
        const sc_tensor *t = in[i];
        if (t ? t->rank != l->rank || !sc_same_sizes(t->size, l->size, l->rank) : l->rank != 0) return RESULT_BY_ORDER;
        if (!t) continue;
        contiguous = contiguous && sc_is_contiguous(t);
        channels_last = channels_last && sc_is_channels_last(t);
        same = same && sc_is_dense(t) && (!in[0] || sc_same_sizes(t->stride, in[0]->stride, l->rank));
    }
    return contiguous ? RESULT_CONTIGUOUS : channels_last ? RESULT_CHANNELS_LAST : same ? RESULT_SAME_STRIDES : RESULT_BY_ORDER;
}

static void strides_in_order(const iter_layout *l, const int *order, int64_t *stride) {
    int64_t next = 1;
    for (int i = 0; i < l->rank; i++) {
        stride[order[i]] = next;
        next = sc_wrapped_product(next, l->size[order[i]]);
    }
}

static sc_tensor *new_result(sc_ctx *cx, const iter_layout *l, int dtype, result_format format, int n_in, sc_tensor *const *in) {
    static const int nhwc[4] = {1, 3, 2, 0};
    int64_t stride[SC_MAX_RANK];
    bool inverted = true;
    for (int i = 0; i < l->rank; i++) inverted = inverted && l->order[i] == l->rank - 1 - i;
    if (format == RESULT_CONTIGUOUS || (format == RESULT_BY_ORDER && inverted)) return sc_empty(cx, dtype, l->rank, l->size);
    if (format == RESULT_SAME_STRIDES) return sc_empty_strided(cx, dtype, l->rank, l->size, in[n_in - 1]->stride);
    strides_in_order(l, format == RESULT_CHANNELS_LAST ? nhwc : l->order, stride);
    return sc_empty_strided(cx, dtype, l->rank, l->size, stride);
}

static void fuse_dims(sc_iter *it, const iter_layout *l, int n, const bool *number, const uint8_t *dtype) {
    int64_t stride[SC_MAX_RANK][SC_MAX_OPERANDS], size[SC_MAX_RANK];
    int rank = 0;
    bool empty = false;
    for (int i = 0; i < l->rank; i++) {
        const int64_t *s = l->stride[l->order[i]];
        int64_t length = l->size[l->order[i]];
        empty |= length == 0;
        if (length == 1) continue;
        bool fuse = rank > 0;
        for (int o = 0; fuse && o < n; o++) fuse = s[o] == sc_wrapped_product(stride[rank - 1][o], size[rank - 1]);
        if (fuse) {
            size[rank - 1] = sc_wrapped_product(size[rank - 1], length);
            continue;
        }
        memcpy(stride[rank], s, (size_t)n * sizeof *s);
        size[rank++] = length;
    }
    it->operands = n;
    it->n = empty ? 0 : rank ? size[0] : 1;
    it->rank = empty || rank == 0 ? 0 : rank - 1;
    it->unit = true;
    for (int o = 0; o < n; o++) {
        it->step[o] = rank ? stride[0][o] / (int64_t)sc_dtype_size(dtype[o]) : 1;
        if (!number[o] && !empty && it->step[o] != 1) it->unit = false;
    }
    for (int d = 0; d < it->rank; d++) {
        it->size[d] = size[d + 1];
        it->at[d] = 0;
        memcpy(it->stride[d], stride[d + 1], (size_t)n * sizeof(int64_t));
    }
}

static void iter_start(sc_iter *it, const iter_layout *l, int first, sc_tensor *const *results, int n_in, sc_tensor *const *in) {
    bool number[SC_MAX_OPERANDS];
    uint8_t dtype[SC_MAX_OPERANDS];
    for (int o = 0; o < first + n_in; o++) {
        const sc_tensor *t = o < first ? results[o] : in[o - first];
        it->p[o] = t ? t->data : it;
        number[o] = !t;
        dtype[o] = t ? t->dtype : SC_BOOL;
    }
    fuse_dims(it, l, first + n_in, number, dtype);
}

static void release_results(sc_ctx *cx, int n, sc_tensor **out) {
    while (n-- > 0) {
        sc_release(cx, out[n]);
        out[n] = NULL;
    }
}

/* Return an input of the results' sizes with a reference count of one, to be overwritten, and clear its bit in `last`. */
static sc_tensor *take_input(const sc_tensor *full, int dtype, int n_in, sc_tensor *const *in, unsigned *last) {
    for (int i = 0; *last >> i && i < n_in; i++) {
        sc_tensor *t = in[i];
        if (!(*last >> i & 1) || !t || t->dtype != dtype || t->obj.refs != 1 || t->storage->obj.refs != 1) continue;
        bool whole = t->data == t->storage->data && (size_t)t->numel * sc_dtype_size(dtype) == t->storage->nbytes;
        if (!whole || (t->storage->flags & SC_EXTERNAL) || !sc_same_shape(t, full) || !has_new_strides(t)) continue;
        *last &= ~(1u << i);
        sc_retain(t);
        return t;
    }
    return NULL;
}

SC_KERNEL int sc_iter_begin(sc_ctx *cx, sc_iter *it, int n_out, const int *dtypes, sc_tensor **out, int n_in,
                            sc_tensor *const *in) {
    return sc_iter_over(cx, it, n_out, dtypes, out, n_in, in, 0);
}

SC_KERNEL int sc_iter_over(sc_ctx *cx, sc_iter *it, int n_out, const int *dtypes, sc_tensor **out, int n_in,
                           sc_tensor *const *in, unsigned last) {
    const sc_tensor *full = NULL;
    for (int i = 0; i < n_in; i++)
        if (in[i] && (!full || in[i]->rank > full->rank || (in[i]->rank == full->rank && in[i]->numel > full->numel)))
            full = in[i];
    iter_layout l;
    result_format format = RESULT_CONTIGUOUS;
    bool plain = full && full->numel > 0 && begin_plain(it, full, n_out, n_in, in);
    it->stage = NULL;
    if (!plain) {
        scalar_layout(&l);
        if (join_shapes(cx, &l, n_in, in)) return -1;
        for (int i = 0; i < n_in; i++) put_strides(&l, i, in[i]);
        sc_order_dims(l.rank, l.size, l.stride, n_in, l.order);
        format = choose_format(&l, n_in, in);
    }
    for (int o = 0; o < n_out; o++) {
        out[o] = plain && last ? take_input(full, dtypes[o], n_in, in, &last) : NULL;
        if (!out[o])
            out[o] = plain ? sc_empty(cx, dtypes[o], full->rank, full->size)
                           : new_result(cx, &l, dtypes[o], format, n_in, in);
        if (!out[o]) {
            release_results(cx, o, out);
            return -1;
        }
        if (plain) set_plain_result(it, o, out[o]);
    }
    if (!plain) {
        for (int o = 0; o < n_out; o++) put_strides(&l, o, out[o]);
        for (int i = 0; i < n_in; i++) put_strides(&l, n_out + i, in[i]);
        iter_start(it, &l, n_out, out, n_in, in);
    }
    if (it->unit || it->n == 0 || sc_stage_begin(cx, it, n_out, out, in) == 0) return 0;
    release_results(cx, n_out, out);
    return -1;
}

SC_KERNEL int sc_iter_into(sc_ctx *cx, sc_iter *it, sc_tensor *dst, int n_in, sc_tensor *const *in) {
    if (sc_check_writable(cx, dst, (const sc_tensor *const *)in, n_in)) return -1;
    it->stage = NULL;
    if (is_plain(dst) && begin_plain(it, dst, 1, n_in, in)) {
        set_plain_result(it, 0, dst);
        dst->storage->flags |= SC_WRITTEN;
        return 0;
    }
    iter_layout l;
    scalar_layout(&l);
    if (sc_broadcast(cx, l.size, &l.rank, dst->size, dst->rank) || join_shapes(cx, &l, n_in, in)) return -1;
    if (l.rank != dst->rank || !sc_same_sizes(l.size, dst->size, l.rank))
        return sc_raise(cx, "RuntimeError", "output with shape %s doesn't match the broadcast shape %s",
                        sc_shape_text(dst).s, sc_sizes_text(l.size, l.rank).s);
    put_strides(&l, 0, dst);
    for (int i = 0; i < n_in; i++) put_strides(&l, 1 + i, in[i]);
    sc_order_dims(l.rank, l.size, l.stride, n_in + 1, l.order);
    iter_start(it, &l, 1, &dst, n_in, in);
    dst->storage->flags |= SC_WRITTEN;
    return 0;
}
