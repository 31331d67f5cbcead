/* scriptc_extension.h - what the C sources of an extension include: DLPack's tensors, and helpers to check and resize
 * tensors and to fail with a message.
 *
 * A function that Python calls takes tensors as `DLTensor *`, which the function may write and resize, or as
 * `const DLTensor *`, which it only reads. The function returns nothing, a number, or an sc_status. When it returns, a
 * message that was left by sc_fail() becomes an exception, whatever the function returns. The helpers serve the
 * thread that Python called the function on. */
#ifndef SCRIPTC_EXTENSION_H
#define SCRIPTC_EXTENSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(DLPACK_MAJOR_VERSION) && !defined(DLPACK_DLPACK_H_)
#define DLPACK_DLPACK_H_
#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 0

typedef enum { kDLCPU = 1, kDLCUDA = 2 } DLDeviceType;
typedef struct { DLDeviceType device_type; int32_t device_id; } DLDevice;
typedef enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLComplex = 5, kDLBool = 6 } DLDataTypeCode;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType; /* lanes: 1 */

typedef struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;     /* in elements; never NULL in a tensor that scriptc passes */
    uint64_t byte_offset; /* from data to the first element */
} DLTensor;
#endif

/* Every tensor that scriptc passes is the first member of such a struct. */
typedef struct sc_tensor_handle {
    DLTensor tensor;
    int (*resize)(struct sc_tensor_handle *self, int32_t ndim, const int64_t *sizes); /* NULL: may not be resized */
    void *owner;
    int32_t references; /* of newContiguous and free in scriptc_th.h */
    void *stream;       /* of a tensor on a CUDA device: the current stream of torch */
} sc_tensor_handle;

/* ---- results ---- */

typedef int sc_status; /* the result of a function that succeeds or raises; Python gets None */
#define SC_OK 0

#if defined(__GNUC__)
#define SC_EXTENSION_FORMAT(at, first) __attribute__((cold, format(printf, at, first)))
#else
#define SC_EXTENSION_FORMAT(at, first)
#endif

/* Leave a message, which becomes a RuntimeError when the function returns. Return -1: `return sc_fail("...", ...);`.
 * Only the first message of a call counts. */
int sc_fail(const char *format, ...) SC_EXTENSION_FORMAT(1, 2);

/* The same as another of Python's built-in exceptions, such as "ValueError". */
int sc_fail_as(const char *exception, const char *format, ...) SC_EXTENSION_FORMAT(2, 3);

/* Return from the function with a message unless `condition` holds. For functions that return int or sc_status. */
#define SC_CHECK(condition, ...) do { if (!(condition)) return sc_fail(__VA_ARGS__); } while (0)
#define SC_CHECK_SAME_SIZE(a, b) do { if (sc_check_same_size((a), (b), #a, #b)) return -1; } while (0)
#define SC_CHECK_NDIM(t, n) do { if (sc_check_ndim((t), (n), #t)) return -1; } while (0)
#define SC_CHECK_CONTIGUOUS(t) do { if (sc_check_contiguous((t), #t)) return -1; } while (0)
#define SC_CHECK_DTYPE(t, dtype) do { if (sc_check_dtype((t), (dtype), #t)) return -1; } while (0)
#define SC_RESIZE(t, ndim, sizes) do { if (sc_resize((t), (ndim), (sizes))) return -1; } while (0)
#define SC_RESIZE_AS(t, other) do { if (sc_resize_as((t), (other))) return -1; } while (0)

/* What the macros call: 0, or -1 after sc_fail(). `name` and `other_name` stand in the message. */
int sc_check_same_size(const DLTensor *a, const DLTensor *b, const char *name, const char *other_name);
int sc_check_ndim(const DLTensor *t, int32_t ndim, const char *name);
int sc_check_contiguous(const DLTensor *t, const char *name);
int sc_check_dtype(const DLTensor *t, const char *dtype, const char *name); /* dtype: "float32", "int64", "bool", ... */

/* ---- tensors ---- */

/* Give a tensor other sizes, as Tensor.resize_ does: the tensor becomes contiguous and keeps its first elements; new
 * elements are not set. Return 0, or -1 after sc_fail(). The pointers in the DLTensor change: read them again. */
int sc_resize(DLTensor *t, int32_t ndim, const int64_t *sizes);
int sc_resize_as(DLTensor *t, const DLTensor *other);

int64_t sc_numel(const DLTensor *t);
bool sc_same_size(const DLTensor *a, const DLTensor *b);
bool sc_tensor_is_contiguous(const DLTensor *t);

/* Return the first element of a tensor. SC_DATA(float, t) is a float *. */
static inline void *sc_data(const DLTensor *t) {
    return t->data ? (void *)((char *)t->data + t->byte_offset) : NULL;
}
#define SC_DATA(type, t) ((type *)sc_data(t))

#ifdef __cplusplus
}
#endif

#include "scriptc_th.h"
#ifdef SC_WITH_CUDA
#include "scriptc_thc.h"
#endif
#endif
