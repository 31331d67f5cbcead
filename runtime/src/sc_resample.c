/* sc_resample.c - resizing along one dim: each result is a weighted sum of a few elements. float and double have loops, halves go
 * through float. */
#include "sc_image.h"

enum { RESAMPLE_ROWS = 16, RESAMPLE_PIECE = 128 };

typedef struct resample_shape { int64_t outer, n, out, inner, taps; } resample_shape;

#define T float
#define N(name) resample_##name##_f32
#include "sc_resample_tile.inc"
#define T double
#define N(name) resample_##name##_f64
#include "sc_resample_tile.inc"

static int check_resample(sc_ctx *cx, const sc_tensor *x, const sc_tensor *index, const sc_tensor *weight) {
    if (!sc_is_float(x->dtype))
        return sc_raise(cx, "NotImplementedError", "\"compute_indices_weights_linear\" not implemented for '%s'",
                        sc_scalar_type_name(x->dtype));
    if (index->rank != 2 || index->dtype != SC_I64 || !sc_same_shape(index, weight) || weight->dtype != x->dtype)
        return sc_raise(cx, "RuntimeError", "resampling needs indices and weights of one shape, [taps, results]");
    return 0;
}

SC_KERNEL sc_tensor *sc_resample(sc_ctx *cx, const sc_tensor *x, const sc_tensor *index, const sc_tensor *weight, int64_t dim) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0 || check_resample(cx, x, index, weight)) return NULL;
    int dtype = x->dtype == SC_F64 ? SC_F64 : SC_F32;
    resample_shape s = {1, x->size[d], index->size[1], 1, index->size[0]};
    for (int k = 0; k < x->rank; k++) *(k < d ? &s.outer : &s.inner) *= k == d ? 1 : x->size[k];
    int64_t size[SC_MAX_RANK];
    memcpy(size, x->size, sizeof size);
    size[d] = s.out;
    sc_tensor *in = image_prepared(cx, x, dtype), *at = in ? sc_contiguous(cx, (sc_tensor *)index) : NULL, *out = NULL;
    sc_tensor *by = at ? image_prepared(cx, weight, dtype) : NULL, *wide = by ? sc_empty(cx, dtype, x->rank, size) : NULL;
    const int64_t room_size[1] = {s.inner == 1 ? (s.n + RESAMPLE_PIECE) * RESAMPLE_ROWS : 0};
    sc_tensor *room = wide ? sc_empty(cx, dtype, 1, room_size) : NULL;
    bool inside = true;
    for (int64_t i = 0; room && i < at->numel; i++) inside = inside && (uint64_t)((int64_t *)at->data)[i] < (uint64_t)s.n;
    if (!inside) sc_raise(cx, "IndexError", "index out of range in self");
    if (room && inside && wide->numel) {
        if (s.inner == 1)
            dtype == SC_F32 ? resample_rows_f32(&s, in->data, at->data, by->data, wide->data, room->data)
                            : resample_rows_f64(&s, in->data, at->data, by->data, wide->data, room->data);
        else
            dtype == SC_F32 ? resample_planes_f32(&s, in->data, at->data, by->data, wide->data)
                            : resample_planes_f64(&s, in->data, at->data, by->data, wide->data);
    }
    if (room && inside) out = sc_to_dtype(cx, wide, x->dtype);
    sc_release(cx, in);
    sc_release(cx, at);
    sc_release(cx, by);
    sc_release(cx, wide);
    sc_release(cx, room);
    return out;
}
