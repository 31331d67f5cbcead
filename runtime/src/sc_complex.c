/* sc_complex.c - complex elements seen as pairs of their parts, and pairs as complex elements. */
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
