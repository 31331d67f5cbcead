/* Stands behind a generated program, in the same file, so that tests can call its entries through ctypes. */
#define EXPORT __attribute__((visibility("default")))

EXPORT sc_ctx *drv_new(void) {
    return sc_ctx_new(NULL);
}

/* What a caller lends a call: the generators of random numbers, and where it prints and warns. */
EXPORT void drv_lend(sc_ctx *cx, sc_rng *rng, sc_rng *numpy_rng, uint32_t (*python_word)(void *), void (*print)(void *, const char *, size_t),
                     void (*warn)(void *, const char *, const char *, const sc_loc *)) {
    cx->rng = rng;
    cx->numpy_rng = numpy_rng;
    cx->python_word = python_word;
    cx->print = print;
    cx->warn = warn;
}

/* The form that a target was set to, and its first leaf. */
EXPORT int drv_target(const sc_ctx *cx, int target, sc_value *leaf) {
    if (target >= cx->n_targets || cx->targets[target].form < 0) return -1;
    *leaf = cx->targets[target].leaves[0];
    return cx->targets[target].form;
}

EXPORT void drv_free(sc_ctx *cx) {
    sc_ctx_free(cx);
}

EXPORT void drv_unwind(sc_ctx *cx) {
    sc_ctx_unwind(cx);
}

EXPORT int64_t drv_live(const sc_ctx *cx) {
    return sc_ctx_count_live(cx);
}

EXPORT int64_t drv_bytes_peak(const sc_ctx *cx) {
    return (int64_t)cx->bytes_peak;
}

EXPORT void drv_release(sc_ctx *cx, void *obj) {
    sc_release(cx, obj);
}

EXPORT const char *drv_error(const sc_ctx *cx, int *loc) {
    *loc = cx->error.loc;
    return cx->error.type;
}

EXPORT const char *drv_message(const sc_ctx *cx) {
    return cx->error.message;
}

EXPORT int drv_call(sc_ctx *cx, int entry, const sc_value *args, sc_value *results) {
    return sc_program_get()->entries[entry].call(cx, args, results);
}

EXPORT sc_tensor *drv_tensor(sc_ctx *cx, void *data, int dtype, int rank, const int64_t *size, const int64_t *stride) {
    size_t last = 0;
    for (int d = 0; d < rank; d++) last += size[d] > 1 ? (size_t)((size[d] - 1) * stride[d]) : 0;
    return sc_from_external(cx, data, (last + 1) * sc_dtype_size(dtype), dtype, rank, size, stride, 0, 0, NULL);
}

/* dtype, rank, sizes and strides in one array */
EXPORT void *drv_describe(const sc_tensor *t, int64_t *out) {
    out[0] = t->dtype;
    out[1] = t->rank;
    for (int i = 0; i < t->rank; i++) {
        out[2 + i] = t->size[i];
        out[2 + t->rank + i] = t->stride[i];
    }
    return t->data;
}

EXPORT sc_str *drv_str(sc_ctx *cx, const uint32_t *codes, int64_t len) {
    return sc_str_of(cx, 4, codes, len);
}

EXPORT int64_t drv_str_codes(const sc_str *s, uint32_t *codes) {
    for (int64_t i = 0; codes && i < s->len; i++) codes[i] = sc_str_code(s, i);
    return s->len;
}

EXPORT sc_list *drv_list(sc_ctx *cx, int holds, int64_t n, const sc_value *items) {
    sc_list *l = sc_list_new(cx, (sc_items)holds, n);
    for (int64_t i = 0; i < n; i++) sc_list_append(cx, l, holds, items[i]);
    return l;
}

EXPORT int64_t drv_list_len(const sc_list *l) {
    return l->len;
}

EXPORT sc_value drv_list_at(const sc_list *l, int64_t i) {
    return sc_list_at(l, i);
}
