/* sc_complex.c - memory seen as other elements: complex ones as pairs of their parts and back, bits as those of another dtype. */
#include "sc_internal.h"

/* A view of x's memory from its first element on, of other elements; the caller fills in sizes and strides. */
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

/* Whether elements that are `fewer` times as large can lie where x's do. */
static bool fits_larger(const sc_tensor *x, int64_t size, int64_t fewer) {
    bool fits = (uintptr_t)x->data % (uintptr_t)size == 0 && ((char *)x->data - (char *)x->storage->data) % size == 0;
    for (int d = 0; d < x->rank - 1; d++) fits = fits && x->stride[d] % fewer == 0;
    return fits;
}

/* The factor between the sizes of elements counts along the last dim, whose elements must be side by side. */
SC_KERNEL sc_tensor *sc_view_dtype(sc_ctx *cx, const sc_tensor *x, int dtype) {
    int64_t was = (int64_t)sc_dtype_size(x->dtype), size = (int64_t)sc_dtype_size(dtype);
    int64_t more = was / size, fewer = size / was; /* one of them is 0 where the sizes differ */
    int last = x->rank - 1;
    const char *wrong = was == size ? NULL
                        : x->stride[last] != 1              ? "self.stride(-1) must be 1 to view elements of another size"
                        : fewer && x->size[last] % fewer != 0 ? "self.size(-1) must be divisible to view larger elements"
                        : fewer && !fits_larger(x, size, fewer)
                            ? "self.stride() and self.storage_offset() must be divisible to view larger elements"
                            : NULL;
    if (wrong) {
        sc_raise(cx, "RuntimeError", "%s", wrong);
        return NULL;
    }
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
