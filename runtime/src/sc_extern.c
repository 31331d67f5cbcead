/* sc_extern.c - calls of the C functions of extensions. */
#include "../include/sc.h"
#include "../include/sc_extern.h"
#include "sc_internal.h"

#include <stdio.h>
#include <string.h>

enum { CPU = 1, MOST_ARGUMENTS = 64 };

typedef struct extern_call {
    const char *name;
    sc_extern_error refused; /* the first resize that compiled code refuses */
} extern_call;

/* Compiled code knows the sizes of every tensor behind the call, so a function may not change them. */
static int refuse_resize(sc_extern_handle *self, int32_t ndim, const int64_t *sizes) {
    extern_call *call = self->owner;
    if (call->refused.type[0]) return -1;
    snprintf(call->refused.type, sizeof call->refused.type, "RuntimeError");
    snprintf(call->refused.message, sizeof call->refused.message,
             "scriptc: %s resizes a tensor from %s to %s in compiled code, where its meta function must do so first", call->name,
             sc_sizes_text(self->tensor.shape, self->tensor.ndim).s, sc_sizes_text(sizes, ndim).s);
    return -1;
}

static void describe(sc_extern_handle *handle, sc_tensor *t, extern_call *call) {
    static const struct { uint8_t code, bits; } dtypes[] = {
        [SC_BOOL] = {6, 8}, [SC_U8] = {1, 8}, [SC_I8] = {0, 8}, [SC_I16] = {0, 16}, [SC_I32] = {0, 32}, [SC_I64] = {0, 64},
        [SC_F16] = {2, 16}, [SC_BF16] = {4, 16}, [SC_F32] = {2, 32}, [SC_F64] = {2, 64}, [SC_C64] = {5, 64}, [SC_C128] = {5, 128}};
    memset(handle, 0, sizeof *handle);
    sc_extern_tensor *d = &handle->tensor;
    d->data = t->numel ? t->data : NULL;
    d->device.type = CPU;
    d->ndim = t->rank;
    d->dtype.code = dtypes[t->dtype].code;
    d->dtype.bits = dtypes[t->dtype].bits;
    d->dtype.lanes = 1;
    d->shape = t->size;
    d->strides = t->stride;
    handle->owner = call;
    handle->references = 1;
}

static bool is_same(const sc_tensor *a, const sc_tensor *b) {
    return a == b || (a->owner && a->owner == b->owner);
}

/* Call a function. One tensor has one handle, so that C code sees the same pointer. */
static int call(sc_ctx *cx, sc_extern_function *function, const char *name, const char *kinds, int n, const sc_value *leaves,
                sc_extern_value *result) {
    sc_extern_handle handles[MOST_ARGUMENTS];
    const sc_tensor *tensors[MOST_ARGUMENTS];
    sc_extern_value args[MOST_ARGUMENTS + 1];
    sc_extern_error error;
    extern_call state = {.name = name};
    int n_args = 0, n_tensors = 0;
    for (int i = 0; i < n; i++, n_args++) {
        switch (kinds[i]) {
        case 't':
        case 'w': {
            sc_tensor *t = leaves[i].t;
            int at = 0;
            while (at < n_tensors && !is_same(tensors[at], t)) at++;
            if (at == n_tensors) {
                describe(&handles[at], t, &state);
                tensors[n_tensors++] = t;
            }
            if (kinds[i] == 'w') {
                handles[at].resize = refuse_resize;
                t->storage->flags |= SC_WRITTEN;
            }
            args[n_args].t = &handles[at].tensor;
            break;
        }
        case 'f': args[n_args].f = leaves[i].f; break;
        case 'b': args[n_args].i = leaves[i].b; break;
        case 's': args[n_args].s = leaves[i].p; break;
        case 'u':
            if (leaves[i].i < 0) return sc_raise(cx, "OverflowError", (const char *)leaves[i + 1].p, (long long)leaves[i].i);
            args[n_args].i = leaves[i++].i;
            break;
        default: args[n_args].i = leaves[i].i; break;
        }
    }
    const int failed = function(&error, args, result);
    if (state.refused.type[0]) error = state.refused;
    return failed || state.refused.type[0] ? sc_raise(cx, error.type, "%s", error.message) : 0;
}

int sc_extern_call(sc_ctx *cx, sc_extern_function *function, const char *name, const char *kinds, int n, const sc_value *leaves) {
    sc_extern_value result;
    return call(cx, function, name, kinds, n, leaves, &result);
}

int sc_extern_call_i64(sc_ctx *cx, sc_extern_function *function, const char *name, const char *kinds, int n,
                       const sc_value *leaves, int64_t *out) {
    sc_extern_value result;
    if (call(cx, function, name, kinds, n, leaves, &result)) return -1;
    *out = result.i;
    return 0;
}

int sc_extern_call_f64(sc_ctx *cx, sc_extern_function *function, const char *name, const char *kinds, int n,
                       const sc_value *leaves, double *out) {
    sc_extern_value result;
    if (call(cx, function, name, kinds, n, leaves, &result)) return -1;
    *out = result.f;
    return 0;
}
