/* Calls runtime operations by name, for tests/test_runtime.py to compare with PyTorch. One call takes tensors and
 * integers and gives tensors; what the integers mean stands in the table of cases there. */
#include <stdio.h>
#include <string.h>

#include "../../runtime/include/sc_cast.h"
#include "../../runtime/include/sc_half.h"
#include "../../runtime/include/sc_ops.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT sc_ctx *drv_new(void) {
    return sc_ctx_new(NULL);
}

EXPORT void drv_free(sc_ctx *cx) {
    sc_ctx_free(cx);
}

EXPORT int64_t drv_live(const sc_ctx *cx) {
    return sc_ctx_count_live(cx);
}

EXPORT void drv_release(sc_ctx *cx, void *obj) {
    sc_release(cx, obj);
}

EXPORT const char *drv_error_type(const sc_ctx *cx) {
    return cx->error.type;
}

EXPORT const char *drv_error_message(const sc_ctx *cx) {
    return cx->error.message;
}

EXPORT sc_tensor *drv_tensor(sc_ctx *cx, void *data, int dtype, int rank, const int64_t *size, const int64_t *stride) {
    return sc_from_external(cx, data, 0, dtype, rank, size, stride, 0, 0, NULL);
}

EXPORT int drv_dtype(const sc_tensor *t) {
    return t->dtype;
}

EXPORT int drv_rank(const sc_tensor *t) {
    return t->rank;
}

EXPORT const int64_t *drv_size(const sc_tensor *t) {
    return t->size;
}

EXPORT const int64_t *drv_stride(const sc_tensor *t) {
    return t->stride;
}

EXPORT void *drv_data(const sc_tensor *t) {
    return t->data;
}

enum { MAX_RESULTS = 64 };

static sc_list *listed(sc_ctx *cx, int n, sc_tensor *const *t) {
    sc_list *l = sc_list_new(cx, SC_OBJECTS, n);
    for (int i = 0; i < n; i++) sc_list_append(cx, l, SC_OBJECTS, (sc_value){.t = t[i]});
    return l;
}

static sc_tensor *joined(sc_ctx *cx, const char *op, int n, sc_tensor *const *t, int64_t dim, int dtype) {
    sc_list *l = listed(cx, n, t);
    sc_tensor *out = !strcmp(op, "cat") ? sc_cat(cx, l, dim, dtype) : sc_stack(cx, l, dim, dtype);
    sc_release(cx, l);
    return out;
}

static int unlisted(sc_ctx *cx, sc_list *l, sc_tensor **out) {
    if (!l) return -1;
    int n = (int)l->len;
    for (int i = 0; i < n; i++) sc_retain(out[i] = l->items[i].t);
    sc_release(cx, l);
    return n;
}

/* The sum of all operands, in double; tensors may be NULL, which counts as the number 1. */
static sc_tensor *sum_of(sc_ctx *cx, int n, sc_tensor *const *t) {
    sc_iter it;
    sc_tensor *out;
    if (sc_iter_begin(cx, &it, 1, (const int[]){SC_F64}, &out, n, t)) return NULL;
    if (it.n)
        do
            for (int64_t i = 0; i < it.n; i++) {
                double sum = 0;
                for (int o = 1; o <= n; o++) sum += t[o - 1] ? ((double *)it.p[o])[i * it.step[o]] : 1.0;
                ((double *)it.p[0])[i * it.step[0]] = sum;
            }
        while (sc_iter_next(&it));
    return out;
}

/* A check gives no tensor: -1 when it raised, else 0 results. */
static int run_check(sc_ctx *cx, const char *op, sc_tensor *const *t, const int64_t *i, int n) {
    if (!strcmp(op, "check_matmul")) return sc_check_matmul(cx, t[0], t[1]);
    if (!strcmp(op, "check_linear")) return sc_check_linear(cx, t[0], t[1], t[2]);
    if (!strcmp(op, "check_broadcast")) return sc_check_broadcast(cx, t[0], t[1]);
    if (!strcmp(op, "check_broadcast_to")) return sc_check_broadcast_to(cx, t[1], t[0]);
    if (!strcmp(op, "check_select")) return sc_check_select(cx, t[0], i[0], i[1]);
    if (!strcmp(op, "check_view")) return sc_check_view(cx, t[0], i, n);
    return sc_raise(cx, "KeyError", "%s", op);
}

EXPORT int drv_run(sc_ctx *cx, const char *op, int nt, sc_tensor *const *t, int n, const int64_t *i, double f, sc_tensor **out) {
    bool b;
    double number;
    int64_t integer;
    if (!strncmp(op, "check_", 6)) return run_check(cx, op, t, i, n);
    if (!strcmp(op, "split")) return unlisted(cx, sc_split(cx, t[0], i[0], i[1]), out);
    if (!strcmp(op, "chunk")) return unlisted(cx, sc_chunk(cx, t[0], i[0], i[1]), out);
    if (!strcmp(op, "unbind")) return unlisted(cx, sc_unbind(cx, t[0], i[0]), out);
    if (!strcmp(op, "item_bool")) return sc_item_bool(cx, t[0], &b);
    if (!strcmp(op, "item_f64")) return sc_item_f64(cx, t[0], &number);
    if (!strcmp(op, "item_i64")) return sc_item_i64(cx, t[0], &integer);
    if (!strcmp(op, "int")) return sc_check_one_element(cx, t[0]);
    out[0] = !strcmp(op, "sum_of")         ? sum_of(cx, nt, t)
             : !strcmp(op, "select")       ? sc_select(cx, t[0], i[0], i[1])
             : !strcmp(op, "slice")        ? sc_slice(cx, t[0], i[0], i[1], i[2], i[3])
             : !strcmp(op, "narrow")       ? sc_narrow(cx, t[0], i[0], i[1], i[2])
             : !strcmp(op, "transpose")    ? sc_transpose(cx, t[0], i[0], i[1])
             : !strcmp(op, "permute")      ? sc_permute(cx, t[0], i, n)
             : !strcmp(op, "unsqueeze")    ? sc_unsqueeze(cx, t[0], i[0])
             : !strcmp(op, "squeeze")      ? sc_squeeze(cx, t[0], i[0])
             : !strcmp(op, "view")         ? sc_view(cx, t[0], i, n)
             : !strcmp(op, "reshape")      ? sc_reshape(cx, t[0], i, n)
             : !strcmp(op, "expand")       ? sc_expand(cx, t[0], i, n)
             : !strcmp(op, "full")         ? sc_full(cx, (int)i[0], i + 2, n - 2, f, i[1])
             : !strcmp(op, "arange")       ? sc_arange(cx, (int)i[0], ((double *)t[0]->data)[0], ((double *)t[0]->data)[1], f)
             : !strcmp(op, "arange_int")   ? sc_arange_int(cx, (int)i[0], i[1], i[2], i[3])
             : !strcmp(op, "clone")        ? sc_clone(cx, t[0])
             : !strcmp(op, "contiguous")   ? sc_contiguous(cx, t[0])
             : !strcmp(op, "to")           ? sc_to_dtype(cx, t[0], (int)i[0])
             : !strcmp(op, "copy_")        ? (sc_copy_into(cx, t[0], t[1]) ? NULL : sc_alias(cx, t[0]))
             : !strcmp(op, "repeat")       ? sc_repeat(cx, t[0], i, n)
             : !strcmp(op, "flip")         ? sc_flip(cx, t[0], i, n)
             : !strcmp(op, "index_select") ? sc_index_select(cx, t[0], i[0], t[1])
             : !strcmp(op, "reduce")       ? sc_reduce(cx, t[0], (int)i[0], i + 3, n - 3, i[1] != 0, (int)i[2])
             : !strcmp(op, "arg")          ? sc_arg_reduce(cx, t[0], (int)i[0], i[1], i[2] != 0)
             : !strcmp(op, "arg_all")      ? sc_arg_reduce_all(cx, t[0], (int)i[0])
                                           : joined(cx, op, nt, t, i[0], (int)i[1]);
    return out[0] ? 1 : -1;
}

EXPORT void drv_halves(const float *x, uint16_t *f16, uint16_t *bf16, float *back, int64_t n) {
    for (int64_t i = 0; i < n; i++) f16[i] = sc_f32_to_f16(x[i]);
    for (int64_t i = 0; i < n; i++) bf16[i] = sc_f32_to_bf16(x[i]);
    for (int64_t i = 0; i < n; i++) back[i] = sc_f16_to_f32(f16[i]);
}
