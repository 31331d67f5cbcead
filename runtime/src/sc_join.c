/* sc_join.c - cat and stack: tensors put together from parts along one dimension. */
#include "sc_internal.h"

/* Return whether the strides of t suggest NHWC (rank 4) or NDHWC (rank 5), as in eager's suggest_memory_format. */
static bool suggests_channels_last(const sc_tensor *t) {
    int rank = t->rank;
    if ((rank != 4 && rank != 5) || t->stride[1] == 0) return false;
    int64_t least = 0;
    for (int i = 0; i < rank; i++) {
        int d = i == 0 ? 1 : i == rank - 1 ? 0 : rank - i;
        if (t->size[d] == 0 || t->stride[d] < least || (d == 0 && least == t->stride[1])) return false;
        least = t->stride[d] * (t->size[d] > 1 ? t->size[d] : 1);
    }
    return true;
}

static sc_tensor *new_joined(sc_ctx *cx, int dtype, int rank, const int64_t *size, bool channels_last) {
    if (!channels_last) return sc_empty(cx, dtype, rank, size);
    int64_t stride[SC_MAX_RANK], next = size[1];
    stride[1] = 1;
    for (int d = rank; d-- > 0;) {
        if (d == 1) continue;
        stride[d] = next;
        next = sc_wrapped_product(next, size[d]);
    }
    return sc_empty_strided(cx, dtype, rank, size, stride);
}

/* Return whether eager's cat skips t: a 1-D tensor without elements. */
static bool is_skipped(const sc_tensor *t) {
    return t->rank == 1 && t->numel == 0;
}

/* Return the wrapped dim, or raise eager's error. `first` becomes the first tensor that is not skipped. */
static int check_cat(sc_ctx *cx, const sc_list *l, int64_t dim, const sc_tensor **first) {
    *first = NULL;
    if (l->len == 0) return sc_raise(cx, "ValueError", "torch.cat(): expected a non-empty list of Tensors");
    for (int64_t i = 0; i < l->len; i++) {
        const sc_tensor *t = l->items[i].t;
        if (t->rank == 0)
            return sc_raise(cx, "RuntimeError", "zero-dimensional tensor (at position %lld) cannot be concatenated",
                            (long long)i);
        if (!*first && !is_skipped(t)) *first = t;
    }
    if (!*first) {
        *first = l->items[0].t;
        return 0; /* nothing but empty tensors: eager does not look at dim */
    }
    int d = sc_wrap_dim(cx, dim, (*first)->rank);
    for (int64_t i = 0; d >= 0 && i < l->len; i++) {
        const sc_tensor *t = l->items[i].t;
        if (is_skipped(t)) continue;
        if (t->rank != (*first)->rank)
            return sc_raise(cx, "RuntimeError", "Tensors must have same number of dimensions: got %d and %d", (*first)->rank,
                            t->rank);
        for (int k = 0; k < t->rank; k++)
            if (k != d && t->size[k] != (*first)->size[k])
                return sc_raise(cx, "RuntimeError",
                                "Sizes of tensors must match except in dimension %d. Expected size %lld but got size %lld for "
                                "tensor number %lld in the list.",
                                d, (long long)(*first)->size[k], (long long)t->size[k], (long long)i);
    }
    return d;
}

enum { CAT_PARTS = 16, CAT_NARROW = 4 };

typedef struct cat_part { /* one row for each index of the dims before the dim; in elements */
    const char *from;
    int64_t pitch, width;
} cat_part;

/* Return whether t consists of evenly spaced contiguous rows of the dims from d on. */
static bool as_part(const sc_tensor *t, int d, cat_part *part) {
    int64_t next = 1;
    *part = (cat_part){t->data, 0, 1};
    for (int k = t->rank; k-- > d; next = sc_wrapped_product(next, t->size[k]))
        if (t->size[k] != 1 && t->stride[k] != next) return false;
    part->width = next;
    bool innermost = true;
    for (int k = d; k-- > 0;) {
        if (t->size[k] == 1) continue;
        if (innermost) part->pitch = t->stride[k];
        else if (t->stride[k] != next) return false;
        innermost = false;
        next = t->stride[k] * t->size[k];
    }
    return true;
}

static bool all_are_parts(const sc_list *l, int d, int dtype) {
    cat_part part;
    for (int64_t i = 0; i < l->len; i++) {
        const sc_tensor *t = l->items[i].t;
        if (t->numel && (t->dtype != dtype || !as_part(t, d, &part))) return false;
    }
    return true;
}

/* Copy some adjacent parts, one row of each at a time, so that the result is written from front to back. */
static void cat_rows(const cat_part *parts, int n, int64_t rows, size_t item, char *to, size_t pitch) {
    for (int64_t r = 0; n && r < rows; r++) {
        char *at = to + (size_t)r * pitch;
        for (int i = 0; i < n; i++) {
            size_t bytes = (size_t)parts[i].width * item;
            sc_move_bytes(at, parts[i].from + r * parts[i].pitch * (int64_t)item, bytes);
            at += bytes;
        }
    }
}

static void cat_parts(const sc_list *l, sc_tensor *out, int d) {
    size_t item = sc_dtype_size(out->dtype), width = 1;
    for (int k = d; k < out->rank; k++) width *= (size_t)out->size[k];
    int64_t rows = width ? out->numel / (int64_t)width : 0;
    cat_part parts[CAT_PARTS];
    char *to = out->data; /* of the first part that is not copied yet */
    int n = 0;
    size_t waiting = 0;
    for (int64_t i = 0; i < l->len; i++) {
        const sc_tensor *t = l->items[i].t;
        if (t->numel == 0) continue;
        as_part(t, d, &parts[n]);
        bool narrow = parts[n].width <= CAT_NARROW; /* columns rather than rows */
        if (narrow)
            for (int64_t e = 0; e < parts[n].width; e++)
                sc_move_row(item, to + waiting + (size_t)e * item, (int64_t)width, parts[n].from + e * (int64_t)item, parts[n].pitch,
                            rows);
        size_t bytes = (size_t)parts[n].width * item;
        if (!narrow) n++, waiting += bytes;
        if (!narrow && n < CAT_PARTS) continue;
        cat_rows(parts, n, rows, item, to, width * item);
        to += waiting + (narrow ? bytes : 0);
        n = 0, waiting = 0;
    }
    cat_rows(parts, n, rows, item, to, width * item);
}

static int cat_views(sc_ctx *cx, const sc_list *l, sc_tensor *out, int d) {
    int64_t at = 0;
    for (int64_t i = 0; i < l->len; i++) {
        const sc_tensor *t = l->items[i].t;
        if (is_skipped(t)) continue;
        sc_tensor *part = sc_narrow(cx, out, d, at, t->size[d]);
        int failed = !part || sc_copy_into(cx, part, t);
        sc_release(cx, part);
        if (failed) return -1;
        at += t->size[d];
    }
    return 0;
}

SC_KERNEL sc_tensor *sc_cat(sc_ctx *cx, const sc_list *tensors, int64_t dim, int dtype) {
    const sc_tensor *first;
    int d = check_cat(cx, tensors, dim, &first);
    if (d < 0) return NULL;
    int64_t size[SC_MAX_RANK], total = 0;
    bool channels_last = true;
    for (int64_t i = 0; i < tensors->len; i++) {
        const sc_tensor *t = tensors->items[i].t;
        channels_last = channels_last && suggests_channels_last(t) && t->rank == first->rank;
        if (!is_skipped(t) && __builtin_add_overflow(total, t->size[d], &total)) {
            sc_raise(cx, "RuntimeError", "cat(): the sizes along dimension %d add up to more than 64 bits hold", d);
            return NULL;
        }
    }
    memcpy(size, first->size, sizeof size);
    size[d] = total;
    sc_tensor *out = new_joined(cx, dtype, first->rank, size, channels_last);
    if (!out) return NULL;
    if (!channels_last && all_are_parts(tensors, d, dtype)) {
        cat_parts(tensors, out, d);
    } else if (cat_views(cx, tensors, out, d)) {
        sc_release(cx, out);
        return NULL;
    }
    return out;
}

SC_KERNEL sc_tensor *sc_cat_items(sc_ctx *cx, sc_tensor *const *tensors, int n, int64_t dim, int dtype) {
    sc_value items[256];
    for (int i = 0; i < n; i++) items[i].t = tensors[i];
    const sc_list list = {.holds = SC_OBJECTS, .len = n, .items = items};
    return sc_cat(cx, &list, dim, dtype);
}

/* Return how many channels images have together that lie side by side in a larger image; 0 if they do not. One whole image is
 * copied, since a result may not share memory with an operand that leaves the function, too. */
static int64_t channels_side_by_side(sc_tensor *const *tensors, int n, int dtype) {
    const sc_tensor *first = tensors[0];
    int64_t channels = 0;
    if (first->rank != 4 || first->stride[3] <= first->size[1]) return 0;
    for (int i = 0; i < n; i++) {
        const sc_tensor *t = tensors[i];
        if (t->rank != 4 || t->dtype != dtype || t->storage != first->storage || t->numel == 0 || t->stride[1] != 1) return 0;
        if (!sc_same_sizes(t->stride, first->stride, 4) || t->data != sc_address(first, channels)) return 0;
        if (t->size[0] != first->size[0] || !sc_same_sizes(t->size + 2, first->size + 2, 2)) return 0;
        channels += t->size[1];
    }
    return channels <= first->stride[3] ? channels : 0;
}

SC_KERNEL sc_tensor *sc_cat_channels(sc_ctx *cx, sc_tensor *const *tensors, int n, int64_t dim, int dtype) {
    const sc_tensor *first = tensors[0];
    int64_t size[4] = {first->size[0], channels_side_by_side(tensors, n, dtype), first->size[2], first->size[3]};
    return size[1] ? sc_view_of(cx, first, 0, 4, size, first->stride) : sc_cat_items(cx, tensors, n, dim, dtype);
}

SC_KERNEL sc_tensor *sc_concat(sc_ctx *cx, sc_tensor *const *tensors, int n) {
    int64_t size[SC_MAX_RANK], at = 0;
    memcpy(size, tensors[0]->size, sizeof size);
    for (int i = 1; i < n; i++) size[0] += tensors[i]->size[0];
    sc_tensor *out = sc_empty(cx, tensors[0]->dtype, tensors[0]->rank, size);
    for (int i = 0; out && i < n; at += tensors[i++]->size[0]) {
        sc_tensor *part = sc_narrow(cx, out, 0, at, tensors[i]->size[0]);
        if (!part || sc_copy_into(cx, part, tensors[i]) < 0) {
            sc_release(cx, part);
            sc_release(cx, out);
            return NULL;
        }
        sc_release(cx, part);
    }
    return out;
}

/* Stack along a new last dim: concatenate the tensors with one more dimension. */
static sc_tensor *stack_last(sc_ctx *cx, const sc_list *tensors, int d, int dtype) {
    sc_list *columns = sc_list_new(cx, SC_OBJECTS, tensors->len);
    sc_tensor *out = NULL;
    for (int64_t i = 0; columns && i < tensors->len; i++) {
        sc_tensor *t = sc_unsqueeze(cx, tensors->items[i].t, d);
        if (!t) {
            sc_release(cx, columns);
            return NULL;
        }
        columns->items[columns->len++].t = t;
    }
    if (columns) out = sc_cat(cx, columns, d, dtype);
    sc_release(cx, columns);
    return out;
}

SC_KERNEL sc_tensor *sc_stack(sc_ctx *cx, const sc_list *tensors, int64_t dim, int dtype) {
    if (tensors->len == 0) {
        sc_raise(cx, "RuntimeError", "stack expects a non-empty TensorList");
        return NULL;
    }
    const sc_tensor *first = tensors->items[0].t;
    int d = sc_wrap_dim(cx, dim, first->rank + 1);
    if (d < 0) return NULL;
    for (int64_t i = 1; i < tensors->len; i++) {
        const sc_tensor *t = tensors->items[i].t;
        if (sc_same_shape(t, first)) continue;
        sc_raise(cx, "RuntimeError", "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %lld",
                 sc_shape_text(first).s, sc_shape_text(t).s, (long long)i);
        return NULL;
    }
    if (d == first->rank) return stack_last(cx, tensors, d, dtype);
    sc_tensor *flat = sc_cat(cx, tensors, d, dtype); /* elsewhere, a cat whose dim is cut in two */
    if (!flat) return NULL;
    int64_t size[SC_MAX_RANK + 1];
    for (int k = 0; k < first->rank; k++) size[k + (k >= d)] = first->size[k];
    size[d] = tensors->len;
    sc_tensor *out = sc_view(cx, flat, size, first->rank + 1);
    sc_release(cx, flat);
    return out;
}
