/* sc_extern.h - what compiled code and the C functions of extensions exchange. The structs have the layout of those in
 * extension/scriptc_extension.h and extension/sc_extension.h, which extensions are compiled with. */
#ifndef SC_EXTERN_H
#define SC_EXTERN_H
#include "sc.h"

typedef struct sc_extern_tensor { /* DLTensor */
    void *data;
    struct { int32_t type, id; } device;
    int32_t ndim;
    struct { uint8_t code, bits; uint16_t lanes; } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} sc_extern_tensor;

typedef struct sc_extern_handle { /* sc_tensor_handle */
    sc_extern_tensor tensor;
    int (*resize)(struct sc_extern_handle *self, int32_t ndim, const int64_t *sizes);
    void *owner;
    int32_t references;
    void *stream;
} sc_extern_handle;

typedef struct sc_extern_error { /* sc_extension_error */
    char type[48];
    char message[1024];
} sc_extern_error;

typedef union sc_extern_value { /* sc_extension_value */
    int64_t i;
    double f;
    const char *s;
    sc_extern_tensor *t;
} sc_extern_value;

typedef int sc_extern_function(sc_extern_error *error, const sc_extern_value *args, sc_extern_value *result);

/* Call a function of an extension. name: as errors give it. kinds: a letter for each leaf: t a tensor, w one that is written,
 * i, f, b and s a number or C string, u an int that must not be negative, followed by a leaf that is the format of the
 * error. Return -1 after sc_raise(). */
int sc_extern_call(sc_ctx *cx, sc_extern_function *function, const char *name, const char *kinds, int n, const sc_value *leaves);
int sc_extern_call_i64(sc_ctx *cx, sc_extern_function *function, const char *name, const char *kinds, int n,
                       const sc_value *leaves, int64_t *out);
int sc_extern_call_f64(sc_ctx *cx, sc_extern_function *function, const char *name, const char *kinds, int n,
                       const sc_value *leaves, double *out);
#endif
