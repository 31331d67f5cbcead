/* sc_view.c - views: new sizes and strides over x's storage. */
#include "sc_internal.h"


/* Return the view of x with the part [start, start + length * step) of dim d. */
static sc_tensor *slice_view(sc_ctx *cx, const sc_tensor *x, int d, int64_t start, int64_t length, int64_t step) {
    sc_tensor *t = sc_view_of(cx, x, sc_wrapped_product(start, x->stride[d]), x->rank, x->size, x->stride);
    if (!t) return NULL;
    t->numel = x->size[d] ? x->numel / x->size[d] * length : 0;
    t->size[d] = length;
    t->stride[d] = sc_wrapped_product(x->stride[d], step);
    return t;
}

/* Return a view of x, like Tensor.detach: autograd allows writes to it. */
SC_KERNEL sc_tensor *sc_alias(sc_ctx *cx, const sc_tensor *x) {
    sc_tensor *t = sc_view_of(cx, x, 0, x->rank, x->size, x->stride);
    if (t) t->leaf = SC_NO_LEAF;
    return t;
}

SC_KERNEL sc_tensor *sc_changed_argument(sc_ctx *cx, const sc_tensor *x, const sc_tensor *argument) {
    sc_tensor *t = sc_view_of(cx, x, 0, x->rank, x->size, x->stride);
    if (t) t->owner = argument->owner, t->leaf = argument->leaf;
    return t;
}

SC_KERNEL sc_tensor *sc_select(sc_ctx *cx, const sc_tensor *x, int64_t dim, int64_t index) {
    if (sc_check_select(cx, x, dim, index)) return NULL;
    int d = (int)(dim < 0 ? dim + x->rank : dim);
    if (index < 0) index += x->size[d];
    int64_t size[SC_MAX_RANK], stride[SC_MAX_RANK];
    for (int i = 0; i + 1 < x->rank; i++) {
        size[i] = x->size[i + (i >= d)];
        stride[i] = x->stride[i + (i >= d)];
    }
    return sc_view_of(cx, x, index * x->stride[d], x->rank - 1, size, stride);
}

static int64_t clamp_index(int64_t i, int64_t low, int64_t size) {
    if (i < 0) i += size;
    return i < low ? low : i > size ? size : i;
}

SC_KERNEL sc_tensor *sc_slice(sc_ctx *cx, const sc_tensor *x, int64_t dim, int64_t start, int64_t stop, int64_t step) {
    if (x->rank == 0) {
        sc_raise(cx, "IndexError", "slice() cannot be applied to a 0-dim tensor.");
        return NULL;
    }
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    if (step < 1) {
        sc_raise(cx, "ValueError", "step must be greater than zero");
        return NULL;
    }
    start = clamp_index(start, 0, x->size[d]);
    stop = clamp_index(stop, start, x->size[d]);
    return slice_view(cx, x, d, start, stop > start ? (stop - start - 1) / step + 1 : 0, step);
}

/* Initialize all fields but sizes and strides. */
static inline void begin_here(sc_tensor *t, const sc_tensor *x, int64_t offset, int rank, int64_t numel) {
    t->obj.prev = t->obj.next = NULL, t->obj.refs = 1, t->obj.kind = SC_TENSOR;
    t->dtype = x->dtype, t->rank = (uint8_t)rank, t->leaf = sc_leaf_of_view(x->leaf), t->storage = x->storage, t->owner = NULL, t->numel = numel;
    t->data = sc_address(x, offset);
}

SC_KERNEL void sc_select_here(sc_tensor *restrict t, const sc_tensor *restrict x, int64_t dim, int64_t index) {
    int64_t numel = 1;
    for (int i = 0; i + 1 < x->rank; i++) {
        t->size[i] = x->size[i + (i >= dim)];
        numel = sc_wrapped_product(numel, t->size[i]);
        t->stride[i] = x->stride[i + (i >= dim)];
    }
    begin_here(t, x, (index < 0 ? index + x->size[dim] : index) * x->stride[dim], x->rank - 1, numel);
}

SC_KERNEL void sc_slice_here(sc_tensor *restrict t, const sc_tensor *restrict x, int64_t dim, int64_t start, int64_t stop,
                             int64_t step) {
    start = clamp_index(start, 0, x->size[dim]);
    stop = clamp_index(stop, start, x->size[dim]);
    int64_t numel = 1;
    for (int i = 0; i < x->rank; i++) {
        t->size[i] = i != dim ? x->size[i] : stop > start ? (stop - start - 1) / step + 1 : 0;
        numel = sc_wrapped_product(numel, t->size[i]);
        t->stride[i] = i == dim ? sc_wrapped_product(x->stride[i], step) : x->stride[i];
    }
    begin_here(t, x, sc_wrapped_product(start, x->stride[dim]), x->rank, numel);
}

SC_KERNEL void sc_unsqueeze_here(sc_tensor *restrict t, const sc_tensor *restrict x, int64_t dim) {
    if (dim < 0) dim += x->rank + 1;
    for (int i = 0; i <= x->rank; i++) {
        t->size[i] = i == dim ? 1 : x->size[i - (i > dim)];
        t->stride[i] = i != dim ? x->stride[i - (i > dim)] : i < x->rank ? sc_wrapped_product(x->size[i], x->stride[i]) : 1;
    }
    begin_here(t, x, 0, x->rank + 1, x->numel);
}

SC_KERNEL void sc_transpose_here(sc_tensor *restrict t, const sc_tensor *restrict x, int64_t d0, int64_t d1) {
    for (int i = 0; i < x->rank; i++) {
        int64_t from = i == d0 ? d1 : i == d1 ? d0 : i;
        t->size[i] = x->size[from], t->stride[i] = x->stride[from];
    }
    begin_here(t, x, 0, x->rank, x->numel);
}

SC_KERNEL sc_tensor *sc_narrow(sc_ctx *cx, const sc_tensor *x, int64_t dim, int64_t start, int64_t length) {
    if (x->rank == 0) {
        sc_raise(cx, "RuntimeError", "narrow() cannot be applied to a 0-dim tensor.");
        return NULL;
    }
    if (length < 0) {
        sc_raise(cx, "RuntimeError", "narrow(): length must be non-negative.");
        return NULL;
    }
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    long long n = x->size[d];
    if (start < -n || start > n) {
        sc_raise(cx, "IndexError", "start out of range (expected to be in range of [%lld, %lld], but got %lld)", -n, n,
                 (long long)start);
        return NULL;
    }
    if (start < 0) start += n;
    if (length > n - start) {
        sc_raise(cx, "RuntimeError", "start (%lld) + length (%lld) exceeds dimension size (%lld).", (long long)start,
                 (long long)length, n);
        return NULL;
    }
    return slice_view(cx, x, d, start, length, 1);
}

SC_KERNEL sc_tensor *sc_transpose(sc_ctx *cx, const sc_tensor *x, int64_t d0, int64_t d1) {
    int a = sc_wrap_dim(cx, d0, x->rank), b = a < 0 ? -1 : sc_wrap_dim(cx, d1, x->rank);
    if (b < 0) return NULL;
    sc_tensor *t = sc_view_of(cx, x, 0, x->rank, x->size, x->stride);
    if (!t || x->rank == 0) return t;
    t->size[a] = x->size[b], t->size[b] = x->size[a];
    t->stride[a] = x->stride[b], t->stride[b] = x->stride[a];
    return t;
}

SC_KERNEL sc_tensor *sc_permute(sc_ctx *cx, const sc_tensor *x, const int64_t *dims, int rank) {
    int64_t size[SC_MAX_RANK], stride[SC_MAX_RANK];
    uint32_t seen = 0;
    if (rank != x->rank) {
        sc_raise(cx, "RuntimeError",
                 "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering "
                 "of dimensions i.e. input.dim() = %d is not equal to len(dims) = %d",
                 x->rank, rank);
        return NULL;
    }
    for (int i = 0; i < rank; i++) {
        int d = sc_wrap_dim(cx, dims[i], rank);
        if (d < 0) return NULL;
        if (seen >> d & 1) {
            sc_raise(cx, "RuntimeError", "permute(): duplicate dims are not allowed.");
            return NULL;
        }
        seen |= 1u << d;
        size[i] = x->size[d];
        stride[i] = x->stride[d];
    }
    return sc_view_of(cx, x, 0, rank, size, stride);
}

SC_KERNEL sc_tensor *sc_unsqueeze(sc_ctx *cx, const sc_tensor *x, int64_t dim) {
    int64_t size[SC_MAX_RANK + 1], stride[SC_MAX_RANK + 1];
    int d = sc_wrap_dim(cx, dim, x->rank + 1);
    if (d < 0) return NULL;
    for (int i = 0; i < x->rank; i++) {
        size[i + (i >= d)] = x->size[i];
        stride[i + (i >= d)] = x->stride[i];
    }
    size[d] = 1;
    stride[d] = d < x->rank ? sc_wrapped_product(x->size[d], x->stride[d]) : 1;
    return sc_view_of(cx, x, 0, x->rank + 1, size, stride);
}

SC_KERNEL sc_tensor *sc_squeeze(sc_ctx *cx, const sc_tensor *x, int64_t dim) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    if (x->rank == 0 || x->size[d] != 1) return sc_view_of(cx, x, 0, x->rank, x->size, x->stride);
    return sc_select(cx, x, d, 0);
}

SC_KERNEL sc_tensor *sc_view(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank) {
    int64_t full[SC_MAX_RANK], stride[SC_MAX_RANK];
    if (sc_check_view(cx, x, size, rank) || sc_infer_size(cx, x, size, rank, full)) return NULL;
    sc_view_strides(x, full, rank, stride);
    return sc_view_of(cx, x, 0, rank, full, stride);
}

SC_KERNEL sc_tensor *sc_reshape(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank) {
    int64_t full[SC_MAX_RANK], stride[SC_MAX_RANK];
    if (sc_infer_size(cx, x, size, rank, full)) return NULL;
    if (sc_view_strides(x, full, rank, stride)) return sc_view_of(cx, x, 0, rank, full, stride);
    sc_tensor *copy = sc_contiguous(cx, (sc_tensor *)x); /* a new tensor: a contiguous one can be viewed */
    if (!copy) return NULL;
    sc_view_strides(copy, full, rank, stride);
    sc_tensor *t = sc_view_of(cx, copy, 0, rank, full, stride);
    sc_release(cx, copy);
    return t;
}

SC_KERNEL sc_tensor *sc_expand(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank) {
    int64_t full[SC_MAX_RANK], stride[SC_MAX_RANK];
    if (sc_check_expand(cx, x, size, rank)) return NULL;
    for (int d = rank, extra = rank - x->rank; d-- > 0;) {
        int64_t have = d < extra ? 1 : x->size[d - extra];
        int64_t own = d >= extra ? x->stride[d - extra] : d + 1 < rank ? sc_wrapped_product(full[d + 1], stride[d + 1]) : 1;
        full[d] = size[d] == -1 ? have : size[d];
        stride[d] = full[d] == have ? own : 0;
    }
    return sc_view_of(cx, x, 0, rank, full, stride);
}

/* ---- lists of views ---- */

/* Return n views of `size` elements along d; the last one may be shorter. */
static sc_list *split_views(sc_ctx *cx, const sc_tensor *x, int d, int64_t n, int64_t size) {
    sc_list *l = sc_list_new(cx, SC_OBJECTS, n);
    for (int64_t i = 0; l && i < n; i++) {
        int64_t start = i * size, left = x->size[d] - start;
        sc_tensor *t = slice_view(cx, x, d, start, left < size ? left : size, 1);
        if (!t) {
            sc_release(cx, l);
            return NULL;
        }
        l->items[l->len++].t = t;
    }
    return l;
}

SC_KERNEL sc_list *sc_split(sc_ctx *cx, const sc_tensor *x, int64_t size, int64_t dim) {
    if (x->rank == 0) {
        sc_raise(cx, "RuntimeError", "split expects at least a 1-dimensional tensor");
        return NULL;
    }
    if (size < 0) {
        sc_raise(cx, "RuntimeError", "split expects split_size be non-negative, but got split_size=%lld", (long long)size);
        return NULL;
    }
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    int64_t total = x->size[d];
    if (size == 0 && total != 0) {
        sc_raise(cx, "RuntimeError", "split_size can only be 0 if dimension size is 0, but got dimension size of %lld",
                 (long long)total);
        return NULL;
    }
    return split_views(cx, x, d, total ? (total - 1) / size + 1 : 1, size);
}

SC_KERNEL sc_list *sc_chunk(sc_ctx *cx, const sc_tensor *x, int64_t chunks, int64_t dim) {
    if (x->rank == 0) {
        sc_raise(cx, "RuntimeError", "chunk expects at least a 1-dimensional tensor");
        return NULL;
    }
    if (chunks <= 0) {
        sc_raise(cx, "RuntimeError", "chunk expects `chunks` to be greater than 0, got: %lld", (long long)chunks);
        return NULL;
    }
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    int64_t total = x->size[d];
    if (total == 0) return split_views(cx, x, d, chunks, 0);
    int64_t size = (total - 1) / chunks + 1;
    return split_views(cx, x, d, (total - 1) / size + 1, size);
}

SC_KERNEL sc_list *sc_unbind(sc_ctx *cx, const sc_tensor *x, int64_t dim) {
    if (x->rank == 0) {
        sc_raise(cx, "IndexError", "Dimension specified as %lld but tensor has no dimensions", (long long)dim);
        return NULL;
    }
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    sc_list *l = sc_list_new(cx, SC_OBJECTS, x->size[d]);
    for (int64_t i = 0; l && i < x->size[d]; i++) {
        sc_tensor *t = sc_select(cx, x, d, i);
        if (!t) {
            sc_release(cx, l);
            return NULL;
        }
        l->items[l->len++].t = t;
    }
    return l;
}

/* ---- views that step through several dims at once ---- */

SC_KERNEL sc_tensor *sc_diagonal(sc_ctx *cx, const sc_tensor *x, int64_t offset, int64_t dim1, int64_t dim2) {
    int a = sc_wrap_dim(cx, dim1, x->rank), b = a < 0 ? -1 : sc_wrap_dim(cx, dim2, x->rank);
    if (b < 0) return NULL;
    if (a == b) {
        sc_raise(cx, "RuntimeError", "diagonal dimensions cannot be identical %lld, %lld", (long long)dim1, (long long)dim2);
        return NULL;
    }
    int64_t size[SC_MAX_RANK], stride[SC_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < x->rank; d++)
        if (d != a && d != b) size[rank] = x->size[d], stride[rank++] = x->stride[d];
    int64_t rows = offset < 0 ? x->size[a] + offset : x->size[a], columns = offset > 0 ? x->size[b] - offset : x->size[b];
    int64_t length = rows < columns ? rows : columns;
    size[rank] = length > 0 ? length : 0;
    stride[rank++] = (int64_t)((uint64_t)x->stride[a] + (uint64_t)x->stride[b]);
    int64_t start = length <= 0 ? 0 : offset < 0 ? -offset * x->stride[a] : offset * x->stride[b];
    return sc_view_of(cx, x, start, rank, size, stride);
}

SC_KERNEL sc_tensor *sc_unfold(sc_ctx *cx, const sc_tensor *x, int64_t dim, int64_t size, int64_t step) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    int64_t n = x->rank ? x->size[d] : 1, sizes[SC_MAX_RANK], strides[SC_MAX_RANK];
    if (size < 0 || size > n) {
        if (size < 0) sc_raise(cx, "RuntimeError", "size is %lld but must be >= 0", (long long)size);
        else
            sc_raise(cx, "RuntimeError", "maximum size for tensor at dimension %d is %lld but size is %lld", d, (long long)n,
                     (long long)size);
        return NULL;
    }
    if (step < 1) {
        sc_raise(cx, "RuntimeError", "step is %lld but must be > 0", (long long)step);
        return NULL;
    }
    for (int k = 0; k < x->rank; k++) sizes[k] = x->size[k], strides[k] = x->stride[k];
    sizes[x->rank] = size;
    strides[x->rank] = x->rank ? x->stride[d] : 1;
    if (x->rank) {
        sizes[d] = (n - size) / step + 1;
        strides[d] = sc_wrapped_product(x->stride[d], step);
    }
    return sc_view_of(cx, x, 0, x->rank + 1, sizes, strides);
}

SC_KERNEL sc_tensor *sc_as_strided(sc_ctx *cx, const sc_tensor *x, const int64_t *size, int rank, const int64_t *stride,
                                   int n_stride, int64_t offset) {
    if (rank != n_stride) {
        sc_raise(cx, "RuntimeError", "mismatch in length of strides and shape");
        return NULL;
    }
    bool from_own = offset == INT64_MIN;
    if (!from_own && x->storage->flags & SC_PARTIAL) {
        sc_raise(cx, "RuntimeError", "scriptc: as_strided counts storage_offset from the start of a storage, of which only a "
                 "part came in; leave it out, or clone the tensor first");
        return NULL;
    }
    if (offset < 0 && !from_own) {
        sc_raise(cx, "RuntimeError", "Tensor: invalid storage offset %lld", (long long)offset);
        return NULL;
    }
    size_t item = sc_dtype_size(x->dtype);
    int64_t own = ((char *)x->data - (char *)x->storage->data) / (int64_t)item, start = from_own ? own : offset, needed;
    bool negative_size = false;
    for (int d = 0; d < rank; d++) {
        negative_size |= size[d] < 0;
        if (stride[d] < 0) {
            sc_raise(cx, "RuntimeError", "as_strided: Negative strides are not supported at the moment, got strides: %s",
                     sc_sizes_text(stride, rank).s);
            return NULL;
        }
    }
    if (negative_size || !sc_extent_bytes(size, stride, rank, start, item, &needed)) {
        sc_raise(cx, "RuntimeError", "Storage size calculation overflowed with sizes=%s and strides=%s",
                 sc_sizes_text(size, rank).s, sc_sizes_text(stride, rank).s);
        return NULL;
    }
    if (needed > (int64_t)x->storage->nbytes) {
        sc_raise(cx, "RuntimeError", "setStorage: sizes %s, strides %s, storage offset %lld, and itemsize %zu requiring a storage "
                 "size of %lld are out of bounds for storage of size %lld", sc_sizes_text(size, rank).s,
                 sc_sizes_text(stride, rank).s, (long long)start, item, (long long)needed, (long long)x->storage->nbytes);
        return NULL;
    }
    return sc_view_of(cx, x, start - own, rank, size, stride);
}
