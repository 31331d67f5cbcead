/* sc_complex.c - views with other elements: complex elements as pairs of their parts and back, and bits as another
 * dtype. */
#include "sc_internal.h"

/* Return a view of x's memory with other elements, from x's first element on. The caller fills in sizes and strides. */
static sc_tensor *view_elements(sc_ctx *cx, const sc_tensor *x, int dtype, int rank, int64_t numel) {
    sc_tensor *t = sc_view_of(cx, x, 0, 0, NULL, NULL);
    if (!t) return NULL;
    t->dtype = (uint8_t)dtype, t->rank = (uint8_t)rank, t->numel = numel;
    return t;
}

SC_KERNEL sc_tensor *sc_view_as_real(sc_ctx *cx, const sc_tensor *x) {
    if (x->rank == SC_MAX_RANK) {
        sc_raise(cx, "RuntimeError", "scriptc: a tensor of more than %d dimensions", SC_MAX_RANK);
        return NULL;
    }
    sc_tensor *t = view_elements(cx, x, sc_part(x->dtype), x->rank + 1, 2 * x->numel);
    if (!t) return NULL;
    for (int d = 0; d < x->rank; d++) t->size[d] = x->size[d], t->stride[d] = 2 * x->stride[d];
    t->size[x->rank] = 2, t->stride[x->rank] = 1;
    return t;
}

SC_KERNEL sc_tensor *sc_view_as_complex(sc_ctx *cx, const sc_tensor *x) {
    int last = x->rank - 1;
    bool even = true;
    for (int d = 0; d < last; d++) even = even && x->stride[d] % 2 == 0;
    size_t pair = 2 * sc_dtype_size(x->dtype); /* storages begin at multiples of it */
    const char *wrong = x->size[last] != 2                   ? "Tensor must have a last dimension of size 2"
                        : x->stride[last] != 1               ? "Tensor must have a last dimension with stride 1"
                        : !even                              ? "Tensor must have a stride divisible by 2 for all but last dimension"
                        : (uintptr_t)x->data % pair && x->data ? "Tensor must have a storage_offset divisible by 2"
                                                             : NULL;
    if (wrong) {
        sc_raise(cx, "RuntimeError", "%s", wrong);
        return NULL;
    }
    sc_tensor *t = view_elements(cx, x, x->dtype == SC_F32 ? SC_C64 : SC_C128, last, x->numel / 2);
    if (!t) return NULL;
    for (int d = 0; d < last; d++) t->size[d] = x->size[d], t->stride[d] = x->stride[d] / 2;
    return t;
}

/* Raise eager's error for a view of elements of another size. must: the condition that the tensor does not meet. */
static int no_view(sc_ctx *cx, const sc_tensor *x, int dtype, const char *must, int64_t got) {
    return sc_raise(cx, "RuntimeError", "%s to view %s as %s (different element sizes), but got %lld", must,
                    sc_scalar_type_name(x->dtype), sc_scalar_type_name(dtype), (long long)got);
}

/* Check, in eager's order, that elements `ratio` times as large can lie where x's do; ratio 0: they are smaller. */
static int check_view_dtype(sc_ctx *cx, const sc_tensor *x, int dtype, int64_t ratio) {
    int64_t was = (int64_t)sc_dtype_size(x->dtype), offset = ((char *)x->data - (char *)x->storage->data) / was;
    int64_t past = (int64_t)((uintptr_t)x->data / (uintptr_t)was); /* external memory may begin at any address */
    char must[80];
    int last = x->rank - 1;
    if (ratio && x->size[last] % ratio != 0) {
        snprintf(must, sizeof must, "self.size(-1) must be divisible by %lld", (long long)ratio);
        return no_view(cx, x, dtype, must, x->size[last]);
    }
    if (ratio && (offset % ratio != 0 || past % ratio != 0)) {
        snprintf(must, sizeof must, "self.storage_offset() must be divisible by %lld", (long long)ratio);
        return no_view(cx, x, dtype, must, offset ? offset : past % ratio);
    }
    if (x->stride[last] != 1) return no_view(cx, x, dtype, "self.stride(-1) must be 1", x->stride[last]);
    for (int d = 0; ratio && d < last; d++) {
        if (x->stride[d] % ratio == 0) continue;
        snprintf(must, sizeof must, "self.stride(%d) must be divisible by %lld", d, (long long)ratio);
        return no_view(cx, x, dtype, must, x->stride[d]);
    }
    return 0;
}

/* View x as another dtype. The last dim, whose elements must be contiguous, changes by the ratio of the sizes of
 * elements. */
SC_KERNEL sc_tensor *sc_view_dtype(sc_ctx *cx, const sc_tensor *x, int dtype) {
    int64_t was = (int64_t)sc_dtype_size(x->dtype), size = (int64_t)sc_dtype_size(dtype);
    int64_t more = was / size, fewer = size / was; /* one of them is 0 where the sizes differ */
    int last = x->rank - 1;
    if (was != size && check_view_dtype(cx, x, dtype, fewer) < 0) return NULL;
    sc_tensor *t = view_elements(cx, x, dtype, x->rank, more ? x->numel * more : x->numel / fewer);
    if (!t) return NULL;
    for (int d = 0; d < x->rank; d++) {
        t->size[d] = x->size[d];
        t->stride[d] = more ? x->stride[d] * more : x->stride[d] / fewer;
    }
    if (was != size) {
        t->size[last] = more ? x->size[last] * more : x->size[last] / fewer;
        t->stride[last] = 1;
    }
    return t;
}
