/* tensors.h - tensors of small integers, and checks of results, for the C tests of kernels. */
#include "../../runtime/include/sc_half.h"
#include "checks.h"
#include "../../runtime/include/sc_kernels.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(bool ok, const char *what, const char *detail) {
    checks++;
    if (!ok && failures++ < 20) printf("FAILED %s: %s %s\n", what, detail, cx->error.message);
}

/* ---- elements ---- */

static double get(const sc_tensor *t, int64_t i) {
    const void *p = (const char *)t->data + i * (int64_t)sc_dtype_size(t->dtype);
    switch (t->dtype) {
    case SC_BOOL: return *(const bool *)p;
    case SC_U8: return *(const uint8_t *)p;
    case SC_I8: return *(const int8_t *)p;
    case SC_I16: return *(const int16_t *)p;
    case SC_I32: return *(const int32_t *)p;
    case SC_I64: return (double)*(const int64_t *)p;
    case SC_F16: return sc_f16_to_f32(*(const uint16_t *)p);
    case SC_BF16: return sc_bf16_to_f32(*(const uint16_t *)p);
    case SC_F32: return *(const float *)p;
    default: return *(const double *)p;
    }
}
static void set(sc_tensor *t, int64_t i, double v) {
    void *p = (char *)t->data + i * (int64_t)sc_dtype_size(t->dtype);
    switch (t->dtype) {
    case SC_BOOL: *(bool *)p = v != 0; break;
    case SC_U8: *(uint8_t *)p = (uint8_t)(int64_t)v; break;
    case SC_I8: *(int8_t *)p = (int8_t)(int64_t)v; break;
    case SC_I16: *(int16_t *)p = (int16_t)(int64_t)v; break;
    case SC_I32: *(int32_t *)p = (int32_t)(int64_t)v; break;
    case SC_I64: *(int64_t *)p = (int64_t)v; break;
    case SC_F16: *(uint16_t *)p = sc_f32_to_f16((float)v); break;
    case SC_BF16: *(uint16_t *)p = sc_f32_to_bf16((float)v); break;
    case SC_F32: *(float *)p = (float)v; break;
    default: *(double *)p = v;
    }
}
static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }
/* element offset of the i-th element in row-major order */
static int64_t offset_of(const sc_tensor *t, int64_t i) {
    int64_t at = 0;
    for (int d = t->rank - 1; d >= 0; i /= t->size[d], d--) at += i % t->size[d] * t->stride[d];
    return at;
}
static double at(const sc_tensor *t, int64_t i) { return get(t, offset_of(t, i)); }
/* Return the elements in row-major order, for loops that read each of them often. The caller frees them. */
static inline double *elements(const sc_tensor *t) {
    double *copied = malloc(((size_t)t->numel + 1) * sizeof *copied);
    for (int64_t i = 0; i < t->numel; i++) copied[i] = at(t, i);
    return copied;
}

/* Small random integers. layout: 0 contiguous, 1 last two dimensions swapped in memory, 2 every second element */
static sc_tensor *make(int dtype, int rank, const int64_t *size, int layout) {
    int64_t stride[SC_MAX_RANK], step = layout == 2 ? 2 : 1, order[SC_MAX_RANK];
    for (int d = 0; d < rank; d++) order[d] = d;
    if (layout == 1 && rank >= 2) order[rank - 1] = rank - 2, order[rank - 2] = rank - 1;
    for (int d = rank - 1; d >= 0; d--) stride[order[d]] = step, step *= size[order[d]] > 0 ? size[order[d]] : 1;
    sc_tensor *t = sc_empty_strided(cx, dtype, rank, size, stride);
    for (int64_t i = 0; i < (int64_t)(t->storage->nbytes / sc_dtype_size(dtype)); i++)
        set(t, i, dtype >= SC_F16 ? NAN : 1); /* what lies between elements must not matter */
    for (int64_t i = 0; i < t->numel; i++) set(t, offset_of(t, i), (double)(below(9) - (dtype == SC_U8 ? 0 : 4)));
    return t;
}
#define MAKE(dtype, layout, ...) \
    make(dtype, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__}, layout)

static void expect_error(const void *result, const char *type, const char *message) {
    expect(!result && !strcmp(cx->error.type, type) && !strcmp(cx->error.message, message), "error", message);
    cx->error = (sc_error){.loc = -1};
}
