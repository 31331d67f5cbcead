/* sc_boundary.c - tensors and lists from a caller of the C API into a call, and results out of it. */
#include <stdlib.h>
#include <string.h>

#include "sc_package.h"

static const struct { uint8_t code, bits; const char *name; } dtypes[SC_NDTYPES] = {
    {kDLBool, 8, "bool"},     {kDLUInt, 8, "uint8"},    {kDLInt, 8, "int8"},       {kDLInt, 16, "int16"},
    {kDLInt, 32, "int32"},    {kDLInt, 64, "int64"},    {kDLFloat, 16, "float16"}, {kDLBfloat, 16, "bfloat16"},
    {kDLFloat, 32, "float32"}, {kDLFloat, 64, "float64"}, {kDLComplex, 64, "complex64"}, {kDLComplex, 128, "complex128"},
};

/* ---- arguments ---- */

static int bad(sc_ctx *cx, const sc_param *p, const char *type, const char *what) {
    return sc_raise(cx, type, "argument '%s': %s", p->name, what);
}

static int check_kind(sc_ctx *cx, const sc_param *p, const DLTensor *t) {
    if (!t) return bad(cx, p, "TypeError", "a tensor is NULL");
    if (t->device.device_type != kDLCPU) return bad(cx, p, "TypeError", "the tensor is not in the memory of the CPU");
    if (t->dtype.lanes != 1 || t->dtype.code != dtypes[p->dtype].code || t->dtype.bits != dtypes[p->dtype].bits) {
        const char *name = NULL;
        for (int i = 0; i < SC_NDTYPES && t->dtype.lanes == 1; i++)
            if (t->dtype.code == dtypes[i].code && t->dtype.bits == dtypes[i].bits) name = dtypes[i].name;
        if (name) return sc_raise(cx, "TypeError", "argument '%s': expected dtype %s, got %s", p->name, dtypes[p->dtype].name, name);
        return sc_raise(cx, "TypeError", "argument '%s': expected dtype %s, got DLPack type (code %d, bits %d, lanes %d)", p->name,
                        dtypes[p->dtype].name, t->dtype.code, t->dtype.bits, t->dtype.lanes);
    }
    if (t->ndim != p->rank)
        return sc_raise(cx, "TypeError", "argument '%s': expected %d dimensions, got %d", p->name, p->rank, t->ndim);
    if (t->ndim > 0 && !t->shape) return bad(cx, p, "ValueError", "the shape is NULL");
    return 0;
}

/* Compute the strides in elements, and the bytes from the first element to the end of the last. */
static int measure_argument(sc_ctx *cx, const sc_param *p, const DLTensor *t, int64_t *stride, size_t *bytes) {
    int64_t count = 1, extent = 1, step, next;
    bool empty = false;
    for (int d = t->ndim; d-- > 0;) {
        int64_t n = t->shape[d];
        if (n < 0) return bad(cx, p, "ValueError", "a size is negative");
        if (p->size[d] >= 0 && n != p->size[d])
            return sc_raise(cx, "ValueError", "argument '%s': compiled for size %lld in dimension %d, got %lld", p->name,
                            (long long)p->size[d], d, (long long)n);
        stride[d] = t->strides ? t->strides[d] : count;
        if (stride[d] < 0) return bad(cx, p, "ValueError", "a stride is negative");
        empty |= n == 0;
        if (__builtin_mul_overflow(count, n ? n : 1, &count) || __builtin_mul_overflow(n ? n - 1 : 0, stride[d], &step) ||
            __builtin_add_overflow(extent, step, &extent))
            return bad(cx, p, "ValueError", "the sizes overflow");
    }
    if (__builtin_mul_overflow(empty ? 0 : extent, (int64_t)sc_dtype_size(p->dtype), &next))
        return bad(cx, p, "ValueError", "the sizes overflow");
    *bytes = (size_t)next;
    return 0;
}

static sc_tensor *take(sc_caller *c, const sc_param *p, const DLTensor *t) {
    static const char nothing[SC_ALIGN] __attribute__((aligned(SC_ALIGN))) = {0}; /* the data of empty tensors */
    int64_t stride[SC_MAX_RANK];
    size_t bytes = 0;
    if (check_kind(c->cx, p, t) || measure_argument(c->cx, p, t, stride, &bytes)) return NULL;
    void *data = bytes ? t->data : (void *)(uintptr_t)nothing;
    if (!data) {
        bad(c->cx, p, "ValueError", "the data is NULL");
        return NULL;
    }
    if (bytes) data = (char *)data + t->byte_offset;
    if ((uintptr_t)data % sc_dtype_size(p->dtype)) {
        bad(c->cx, p, "ValueError", "the data is not aligned to its elements");
        return NULL;
    }
    uint32_t flags = c->read_only ? SC_READONLY : 0;
    return sc_from_external(c->cx, data, bytes, p->dtype, p->rank, t->shape, stride, flags, -1, NULL);
}

int sc_take_tensor(sc_caller *c, const sc_param *p, const DLTensor *from, sc_value *out) {
    return (out->t = take(c, p, from)) ? 0 : -1;
}

/* Make a list with room for n items. */
static sc_list *open_list(sc_caller *c, const char *name, const void *from, int64_t n, sc_items holds) {
    if (n < 0 || (n > 0 && !from)) {
        sc_raise(c->cx, "ValueError", "argument '%s': %s", name, n < 0 ? "the length is negative" : "the list is NULL");
        return NULL;
    }
    return sc_list_new(c->cx, holds, n);
}

static int close_list(sc_list *l, const char *name) {
    l->written = false;
    l->owner = (void *)(uintptr_t)name; /* marks it as the caller's */
    return 0;
}

int sc_take_tensors(sc_caller *c, const sc_param *p, const DLTensor *const *from, int64_t n, sc_value *out) {
    if (!(out->l = open_list(c, p->name, from, n, SC_OBJECTS))) return -1;
    for (int64_t i = 0; i < n; i++) {
        sc_tensor *t = take(c, p, from[i]);
        if (!t || sc_list_append(c->cx, out->l, SC_OBJECTS, (sc_value){.t = t})) return -1;
        sc_release(c->cx, t);
    }
    return close_list(out->l, p->name);
}

#define TAKE_NUMBERS(function, type, member, holds)                                                                 \
    int function(sc_caller *c, const char *name, const type *from, int64_t n, sc_value *out) {                      \
        if (!(out->l = open_list(c, name, from, n, holds))) return -1;                                              \
        for (int64_t i = 0; i < n; i++)                                                                             \
            if (sc_list_append(c->cx, out->l, holds, (sc_value){.member = from[i]})) return -1;                     \
        return close_list(out->l, name);                                                                            \
    }
TAKE_NUMBERS(sc_take_i64s, int64_t, i, SC_VALUES)
TAKE_NUMBERS(sc_take_f64s, double, f, SC_VALUES)
TAKE_NUMBERS(sc_take_bools, bool, b, SC_BOOLS)

static sc_str *take_str(sc_caller *c, const char *name, scriptc_string from) {
    if (from.n < 0 || (from.n > 0 && !from.data)) {
        sc_raise(c->cx, "ValueError", "argument '%s': %s", name, from.n < 0 ? "the length is negative" : "the string is NULL");
        return NULL;
    }
    return sc_str_from_utf8(c->cx, from.n ? from.data : "", (size_t)from.n);
}

int sc_take_str(sc_caller *c, const char *name, scriptc_string from, sc_value *out) {
    return (out->s = take_str(c, name, from)) ? 0 : -1;
}

int sc_take_strs(sc_caller *c, const char *name, const scriptc_string *from, int64_t n, sc_value *out) {
    if (!(out->l = open_list(c, name, from, n, SC_OBJECTS))) return -1;
    for (int64_t i = 0; i < n; i++) {
        sc_str *s = take_str(c, name, from[i]);
        if (!s || sc_list_append(c->cx, out->l, SC_OBJECTS, (sc_value){.s = s})) return -1;
        sc_release(c->cx, s);
    }
    return close_list(out->l, name);
}

/* ---- results ---- */

typedef struct handout { /* a result and what it owns */
    DLManagedTensorVersioned managed;
    int64_t shape[SC_MAX_RANK], strides[SC_MAX_RANK];
    sc_storage *storage; /* detached from the call, or NULL */
    void *copy;          /* otherwise, a block that holds a copy of the data */
} handout;

static void delete_handout(DLManagedTensorVersioned *self) {
    handout *h = self->manager_ctx;
    sc_storage_free_detached(h->storage);
    free(h->copy);
    free(h);
}

static int no_memory(sc_ctx *cx) {
    return sc_raise(cx, "MemoryError", "out of memory for a result");
}

/* Copy data that the caller owns, or that another result has taken, with its strides. */
static int copy_data(sc_ctx *cx, const sc_tensor *t, handout *h) {
    int64_t extent = t->numel ? 1 : 0;
    for (int d = 0; d < t->rank && extent; d++) extent += (t->size[d] - 1) * t->stride[d];
    size_t bytes = (size_t)extent * sc_dtype_size(t->dtype), room = (bytes + SC_ALIGN) / SC_ALIGN * SC_ALIGN;
    if (!(h->copy = aligned_alloc(SC_ALIGN, room))) return no_memory(cx);
    if (bytes) memcpy(h->copy, t->data, bytes);
    h->managed.dl_tensor.data = h->copy;
    return 0;
}

static int give(sc_ctx *cx, const sc_tensor *t, DLManagedTensorVersioned **out) {
    handout *h = calloc(1, sizeof *h);
    if (!h) return no_memory(cx);
    h->managed = (DLManagedTensorVersioned){
        .version = {1, 0},
        .manager_ctx = h,
        .deleter = delete_handout,
        .dl_tensor = {.data = t->data,
                      .device = {.device_type = kDLCPU},
                      .ndim = t->rank,
                      .dtype = {dtypes[t->dtype].code, dtypes[t->dtype].bits, 1},
                      .shape = h->shape,
                      .strides = h->strides},
    };
    memcpy(h->shape, t->size, (size_t)t->rank * sizeof *h->shape);
    memcpy(h->strides, t->stride, (size_t)t->rank * sizeof *h->strides);
    sc_storage *s = t->storage;
    if (s->flags & SC_EXTERNAL || !s->obj.prev) {
        if (copy_data(cx, t, h)) {
            free(h);
            return -1;
        }
    } else {
        h->storage = sc_storage_detach(cx, s);
        h->managed.dl_tensor.data = (char *)h->storage->data + ((char *)t->data - (char *)s->data);
    }
    *out = &h->managed;
    return 0;
}

int sc_give_tensor(sc_caller *c, sc_value from, DLManagedTensorVersioned **out) {
    return give(c->cx, from.t, out);
}

int sc_give_tensors(sc_caller *c, sc_value from, DLManagedTensorVersioned ***out, int64_t *n) {
    const sc_list *l = from.l;
    if (!(*out = calloc((size_t)l->len + 1, sizeof **out))) return no_memory(c->cx);
    for (*n = 0; *n < l->len; ++*n)
        if (give(c->cx, l->items[*n].t, &(*out)[*n])) return -1;
    return 0;
}

#define GIVE_NUMBERS(function, type, member)                                                                        \
    int function(sc_caller *c, sc_value from, type **out, int64_t *n) {                                             \
        if (!(*out = calloc((size_t)from.l->len + 1, sizeof **out))) return no_memory(c->cx);                       \
        for (*n = 0; *n < from.l->len; ++*n) (*out)[*n] = sc_list_at(from.l, *n).member;                            \
        return 0;                                                                                                   \
    }
GIVE_NUMBERS(sc_give_i64s, int64_t, i)
GIVE_NUMBERS(sc_give_f64s, double, f)
GIVE_NUMBERS(sc_give_bools, bool, b)

/* Write a string and a NUL to `to`, and return the end. NULL stands for the empty string. */
static char *write_str(const sc_str *s, char *to, scriptc_string *out) {
    char *end = s ? sc_str_utf8_write(s, to) : to;
    *end = '\0';
    *out = (scriptc_string){to, end - to};
    return end + 1;
}

int sc_give_str(sc_caller *c, sc_value from, scriptc_string *out) {
    char *data = malloc((from.s ? sc_str_utf8_length(from.s) : 0) + 1);
    if (!data) return no_memory(c->cx);
    write_str(from.s, data, out);
    return 0;
}

int sc_give_strs(sc_caller *c, sc_value from, scriptc_string **out, int64_t *n) {
    const sc_list *l = from.l;
    size_t bytes = (size_t)(l->len + 1) * sizeof **out;
    for (int64_t i = 0; i < l->len; i++) bytes += sc_str_utf8_length(l->items[i].s) + 1;
    if (!(*out = malloc(bytes))) return no_memory(c->cx);
    char *to = (char *)(*out + l->len + 1);
    for (*n = 0; *n < l->len; ++*n) to = write_str(l->items[*n].s, to, &(*out)[*n]);
    return 0;
}

void sc_drop_tensor(DLManagedTensorVersioned **tensor) {
    if (*tensor) (*tensor)->deleter(*tensor);
    *tensor = NULL;
}

void sc_drop_tensors(DLManagedTensorVersioned ***tensors, int64_t *n) {
    for (int64_t i = 0; *tensors && i < *n; i++) sc_drop_tensor(&(*tensors)[i]);
    free(*tensors);
    *tensors = NULL;
    *n = 0;
}
