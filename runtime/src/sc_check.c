/* sc_check.c - the errors of operations, apart from the operations: types and messages are eager PyTorch's. */
#include "sc_internal.h"

typedef long long sc_ll; /* for %lld */

SC_KERNEL int sc_check_broadcast(sc_ctx *cx, const sc_tensor *a, const sc_tensor *b) {
    int64_t size[SC_MAX_RANK];
    int rank = a->rank;
    if (sc_same_shape(a, b)) return 0;
    memcpy(size, a->size, sizeof size);
    return sc_broadcast(cx, size, &rank, b->size, b->rank);
}

SC_KERNEL int sc_check_broadcast_to(sc_ctx *cx, const sc_tensor *src, const sc_tensor *dst) {
    int64_t size[SC_MAX_RANK];
    int rank = dst->rank;
    memcpy(size, dst->size, sizeof size);
    if (sc_broadcast(cx, size, &rank, src->size, src->rank)) return -1;
    if (rank == dst->rank && sc_same_sizes(size, dst->size, rank)) return 0;
    return sc_raise(cx, "RuntimeError", "output with shape %s doesn't match the broadcast shape %s", sc_shape_text(dst).s,
                    sc_sizes_text(size, rank).s);
}

/* Raise if an in-place op writes to a leaf that requires grad. view: the op writes to a view of dst. */
SC_KERNEL int sc_check_leaf(sc_ctx *cx, const sc_tensor *dst, bool view) {
    if (dst->leaf == SC_NO_LEAF || dst->leaf == SC_UNRECORDED) return 0;
    if (dst->leaf == SC_COMPUTED) { /* autograd would keep the gradients of the old value; refused when the call returns */
        cx->hides_write = true;
        return 0;
    }
    return sc_raise(cx, "RuntimeError", "%s leaf Variable that requires grad is being used in an in-place operation.",
                    view || dst->leaf == SC_VIEW_OF_LEAF ? "a view of a" : "a");
}

/* Raise if two tensors are one Python object, which is about to change. */
SC_KERNEL int sc_check_other(sc_ctx *cx, const sc_tensor *t, const sc_tensor *other) {
    if (!t->owner || t->owner != other->owner) return 0;
    return sc_raise(cx, "NotImplementedError", "a tensor changes that is another argument, or is read elsewhere, too");
}

/* Raise if a list holds a tensor, which is about to change. */
SC_KERNEL int sc_check_absent(sc_ctx *cx, const sc_tensor *t, const sc_list *items) {
    for (int64_t i = 0; i < items->len; i++)
        if (sc_check_other(cx, t, items->items[i].t)) return -1;
    return 0;
}

/* Raise if a tensor requires grad and autograd records. */
SC_KERNEL int sc_check_detached(sc_ctx *cx, const sc_tensor *t, const char *message) {
    return t->leaf == SC_NO_LEAF || t->leaf == SC_UNRECORDED ? 0 : sc_raise(cx, "RuntimeError", "%s", message);
}

/* Return whether a tensor, or one in a container, requires grad. Arguments hold no container that holds itself. */
SC_KERNEL bool sc_any_requires_grad(const sc_obj *o) {
    if (o && o->kind == SC_TENSOR) return ((const sc_tensor *)o)->leaf != SC_NO_LEAF;
    if (o && o->kind == SC_LIST) {
        const sc_list *l = (const sc_list *)o;
        for (int64_t i = 0; (l->holds == SC_OBJECTS || l->mask) && i < l->len; i++)
            if ((l->holds == SC_OBJECTS || sc_mask_counts(l->mask, i)) && sc_any_requires_grad(l->items[i].o)) return true;
    }
    if (o && o->kind == SC_DICT) {
        const sc_dict *d = (const sc_dict *)o;
        for (int64_t i = 0; d->counted && i < d->n; i++)
            if (sc_dict_item(d, i, d->stride)->hash != SC_HOLE && sc_any_requires_grad(sc_dict_value(d, i)->o)) return true;
    }
    return false;
}

/* ---- products ---- */

static int check_mm(sc_ctx *cx, int64_t rows, int64_t inner, const sc_tensor *b, int64_t b_rows, int64_t b_cols, int dtype) {
    if (inner != b_rows)
        return sc_raise(cx, "RuntimeError", "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)", (sc_ll)rows,
                        (sc_ll)inner, (sc_ll)b_rows, (sc_ll)b_cols);
    if (dtype != b->dtype)
        return sc_raise(cx, "RuntimeError", "expected m1 and m2 to have the same dtype, but got: %s != %s",
                        sc_dtype_name(dtype), sc_dtype_name(b->dtype));
    return 0;
}

static int check_mv(sc_ctx *cx, int64_t rows, int64_t inner, const sc_tensor *m, const sc_tensor *v) {
    if (inner != v->numel)
        return sc_raise(cx, "RuntimeError", "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)", (sc_ll)rows, (sc_ll)rows,
                        (sc_ll)inner, (sc_ll)v->numel);
    if (m->dtype != v->dtype)
        return sc_raise(cx, "RuntimeError", "addmv input tensors must have the same dtype, but got %s, %s, and %s",
                        sc_scalar_type_name(v->dtype), sc_scalar_type_name(m->dtype), sc_scalar_type_name(v->dtype));
    return 0;
}

static int check_dot(sc_ctx *cx, const sc_tensor *a, const sc_tensor *b) {
    if (a->dtype != b->dtype)
        return sc_raise(cx, "RuntimeError", "dot : expected both vectors to have same dtype, but found %s and %s",
                        sc_scalar_type_name(a->dtype), sc_scalar_type_name(b->dtype));
    if (a->numel != b->numel)
        return sc_raise(cx, "RuntimeError",
                        "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the same number of elements, "
                        "but got %lld and %lld elements respectively",
                        (sc_ll)a->numel, (sc_ll)b->numel, (sc_ll)a->numel, (sc_ll)b->numel);
    return 0;
}

static int64_t check_product(const int64_t *size, int n) {
    int64_t p = 1;
    for (int i = 0; i < n; i++) p = sc_wrapped_product(p, size[i]);
    return p;
}

/* Return whether eager views the batch dimensions of a stack of matrices (of rank >= 3) as more rows of one matrix. */
static bool check_folds(const sc_tensor *t, int64_t row_stride, int64_t rows) {
    if (t->numel == 0) return true;
    for (int d = 0; d < t->rank - 2; d++) {
        int64_t stride = d == t->rank - 3 ? row_stride : t->stride[d + 1], size = d == t->rank - 3 ? rows : t->size[d + 1];
        if (t->stride[d] != sc_wrapped_product(stride, size)) return false;
    }
    return true;
}

SC_KERNEL int sc_check_matmul(sc_ctx *cx, const sc_tensor *a, const sc_tensor *b) {
    int ra = a->rank, rb = b->rank;
    const int64_t *sa = a->size, *sb = b->size;
    if (ra == 0 || rb == 0)
        return sc_raise(cx, "RuntimeError", "both arguments to matmul need to be at least 1D, but they are %dD and %dD", ra, rb);
    if (ra == 1 && rb == 1) return check_dot(cx, a, b);
    if (ra == 2 && rb == 1) return check_mv(cx, sa[0], sa[1], a, b);
    if (ra <= 2 && rb == 2) return check_mm(cx, ra == 2 ? sa[0] : 1, sa[ra - 1], b, sb[0], sb[1], a->dtype);
    if (ra >= 3 && rb <= 2 && check_folds(a, a->stride[ra - 2], sa[ra - 2])) {
        int64_t rows = check_product(sa, ra - 1);
        return rb == 1 ? check_mv(cx, rows, sa[ra - 1], a, b) : check_mm(cx, rows, sa[ra - 1], b, sb[0], sb[1], a->dtype);
    }
    if (ra == 1 && check_folds(b, b->stride[rb - 1], sb[rb - 1])) /* as b.mT @ a */
        return check_mv(cx, check_product(sb, rb - 2) * sb[rb - 1], sb[rb - 2], b, a);

    int64_t batch[SC_MAX_RANK] = {0};
    int rank = ra > 2 ? ra - 2 : 0;
    memcpy(batch, sa, (size_t)rank * sizeof *batch);
    if (sc_broadcast(cx, batch, &rank, sb, rb > 2 ? rb - 2 : 0)) return -1;
    int64_t n = check_product(batch, rank), inner = sa[ra - 1], b_rows = rb > 1 ? sb[rb - 2] : sb[0];
    if (inner != b_rows)
        return sc_raise(cx, "RuntimeError",
                        "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: [%lld, %lld].",
                        (sc_ll)n, (sc_ll)inner, (sc_ll)n, (sc_ll)b_rows);
    if (a->dtype != b->dtype && a->numel && b->numel)
        return sc_raise(cx, "RuntimeError", "expected scalar type %s but found %s", sc_scalar_type_name(a->dtype),
                        sc_scalar_type_name(b->dtype));
    return 0;
}

/* Return whether t has at most one dimension of a size other than 1. */
static bool is_vector(const sc_tensor *t) {
    int n = 0;
    for (int d = 0; d < t->rank; d++) n += t->size[d] != 1;
    return t->rank == 1 || n == 1;
}

SC_KERNEL int sc_check_linear(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias) {
    int rank = x->rank;
    bool fits = rank > 0 && w->rank == 2 && x->size[rank - 1] == w->size[1] && x->dtype == w->dtype;
    if (fits && (!bias || (bias->rank == 1 && bias->size[0] == w->size[0] && bias->dtype == w->dtype))) return 0;
    if (rank == 0 || w->rank == 0)
        return sc_raise(cx, "RuntimeError", "both arguments to linear need to be at least 1D, but they are %dD and %dD", rank,
                        w->rank);
    if (w->rank > 2)
        return sc_raise(cx, "RuntimeError", "t() expects a tensor with <= 2 dimensions, but self is %dD", w->rank);
    /* With a bias, eager multiplies x as one matrix if x can be viewed as one. */
    bool flat = bias && (rank == 2 || (is_vector(bias) && sc_is_contiguous(x)));
    if (flat) {
        int64_t rows = check_product(x->size, rank - 1), n = w->size[0];
        if (bias->dtype != w->dtype)
            return sc_raise(cx, "RuntimeError", "self and mat2 must have the same dtype, but got %s and %s",
                            sc_scalar_type_name(bias->dtype), sc_scalar_type_name(w->dtype));
        if (w->rank == 1) return sc_raise(cx, "RuntimeError", "mat2 must be a matrix, got 1-D tensor");
        if (check_mm(cx, rows, x->size[rank - 1], w, w->size[1], n, w->dtype)) return -1;
        if (x->dtype != w->dtype)
            return sc_raise(cx, "RuntimeError", "mat1 and mat2 must have the same dtype, but got %s and %s",
                            sc_scalar_type_name(x->dtype), sc_scalar_type_name(w->dtype));
        return sc_check_expand(cx, bias, (const int64_t[]){rows, n}, 2); /* as eager expands it before adding */
    }
    sc_tensor t = *w; /* w.t() */
    if (w->rank == 2) {
        t.size[0] = w->size[1], t.size[1] = w->size[0];
        t.stride[0] = w->stride[1], t.stride[1] = w->stride[0];
    }
    if (sc_check_matmul(cx, x, &t)) return -1;
    if (!bias) return 0;
    sc_tensor out = *x; /* only its shape is used: the product, to which eager adds the bias in place */
    out.rank = (uint8_t)(rank - (w->rank == 1));
    if (w->rank == 2) out.size[rank - 1] = w->size[0];
    return sc_check_broadcast_to(cx, bias, &out);
}

/* ---- indexing and shapes ---- */

SC_KERNEL int sc_check_select(sc_ctx *cx, const sc_tensor *x, int64_t dim, int64_t index) {
    if (x->rank == 0)
        return sc_raise(cx, "IndexError",
                        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                        "convert a 0-dim tensor to a number");
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return -1;
    if (index < -x->size[d] || index >= x->size[d])
        return sc_raise(cx, "IndexError", "index %lld is out of bounds for dimension %d with size %lld", (sc_ll)index, d,
                        (sc_ll)x->size[d]);
    return 0;
}

SC_KERNEL int sc_check_view(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank) {
    int64_t full[SC_MAX_RANK], stride[SC_MAX_RANK];
    if (sc_infer_size(cx, x, size, rank, full)) return -1;
    if (sc_view_strides(x, full, rank, stride)) return 0;
    return sc_raise(cx, "RuntimeError",
                    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
                    "contiguous subspaces). Use .reshape(...) instead.");
}

SC_KERNEL int sc_check_reshape(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank) {
    int64_t full[SC_MAX_RANK];
    return sc_infer_size(cx, x, size, rank, full);
}

SC_KERNEL int sc_check_expand(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank) {
    int extra = rank - x->rank;
    if (extra < 0)
        return sc_raise(cx, "RuntimeError",
                        "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%d) must be greater or equal to the "
                        "number of dimensions in the tensor (%d)",
                        sc_scalar_type_name(x->dtype), sc_shape_text(x).s, sc_sizes_text(size, rank).s, rank, x->rank);
    for (int d = rank; d-- > 0;) {
        if (d < extra && size[d] == -1 && x->rank)
            return sc_raise(cx, "RuntimeError",
                            "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension %d", d);
        int64_t have = d < extra ? 1 : x->size[d - extra];
        if (size[d] == have || (size[d] == -1 && d >= extra)) continue;
        if (have != 1)
            return sc_raise(cx, "RuntimeError",
                            "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton "
                            "dimension %d.  Target sizes: %s.  Tensor sizes: %s",
                            (sc_ll)size[d], (sc_ll)have, d, sc_sizes_text(size, rank).s, sc_shape_text(x).s);
        if (size[d] < 0) return sc_raise(cx, "RuntimeError", "numel: integer multiplication overflow");
    }
    int64_t full[SC_MAX_RANK], numel;
    if (rank > SC_MAX_RANK) return 0; /* sc_view_of refuses it */
    for (int d = 0; d < rank; d++) full[d] = size[d] == -1 ? x->size[d - extra] : size[d];
    return sc_count_elements(full, rank, &numel) ? 0 : sc_raise(cx, "RuntimeError", "numel: integer multiplication overflow");
}

SC_KERNEL int sc_check_one_element(sc_ctx *cx, const sc_tensor *x) {
    if (x->numel == 1) return 0;
    return sc_raise(cx, "ValueError", "only one element tensors can be converted to Python scalars");
}
