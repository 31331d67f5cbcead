/* sc_dlpack.h - the parts of DLPack's ABI (major version 1) that the bridge exchanges tensors through: the versioned
 * managed tensor, and the table of functions at type(t).__dlpack_c_exchange_api__. */
#ifndef SC_DLPACK_H
#define SC_DLPACK_H
#include <stdint.h>

#define SC_DL_MAJOR 1
#define SC_DL_CPU 1               /* device type */
#define SC_DL_READ_ONLY UINT64_C(1) /* flag of a managed tensor */

enum { SC_DL_INT = 0, SC_DL_UINT = 1, SC_DL_FLOAT = 2, SC_DL_BFLOAT = 4, SC_DL_COMPLEX = 5, SC_DL_BOOL = 6 }; /* type codes */

typedef struct sc_dl_version { uint32_t major, minor; } sc_dl_version;
typedef struct sc_dl_device { int32_t type, id; } sc_dl_device;
typedef struct sc_dl_dtype { uint8_t code, bits; uint16_t lanes; } sc_dl_dtype;

typedef struct sc_dl_tensor {
    void *data;
    sc_dl_device device;
    int32_t ndim;
    sc_dl_dtype dtype;
    int64_t *shape, *strides; /* in elements; strides may be NULL when the tensor is contiguous */
    uint64_t byte_offset;
} sc_dl_tensor;

typedef struct sc_dl_managed {
    sc_dl_version version;
    void *manager_ctx;
    void (*deleter)(struct sc_dl_managed *self);
    uint64_t flags;
    sc_dl_tensor tensor;
} sc_dl_managed;

/* Functions return 0, or -1 with a Python exception set; the GIL is held by the caller. */
typedef struct sc_dl_exchange {
    sc_dl_version version;
    struct sc_dl_exchange *older;
    int (*allocate)(sc_dl_tensor *prototype, sc_dl_managed **out, void *error_ctx,
                    void (*set_error)(void *error_ctx, const char *kind, const char *message));
    int (*managed_from_object)(void *object, sc_dl_managed **out);
    int (*managed_to_object)(sc_dl_managed *managed, void **out); /* takes managed over */
    int (*borrow_from_object)(void *object, sc_dl_tensor *out);
    int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
} sc_dl_exchange;
#endif
