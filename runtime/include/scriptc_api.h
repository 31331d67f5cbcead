/* scriptc_api.h - what the C headers of all packages share: DLPack's tensors under their own names, and errors.
 *
 * The declarations of DLPack are those of its ABI, major version 1. A program that uses dlpack.h itself includes it
 * first: then its declarations serve here too. */
#ifndef SCRIPTC_API_H
#define SCRIPTC_API_H

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
#define DLPACK_FLAG_BITMASK_READ_ONLY (UINT64_C(1) << 0)
#define DLPACK_FLAG_BITMASK_IS_COPIED (UINT64_C(1) << 1)

typedef struct { uint32_t major, minor; } DLPackVersion;
typedef enum { kDLCPU = 1 } DLDeviceType; /* compiled code runs on the CPU alone */
typedef struct { DLDeviceType device_type; int32_t device_id; } DLDevice;
typedef enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLComplex = 5, kDLBool = 6 } DLDataTypeCode;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType; /* lanes: 1 */

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;     /* in elements; NULL: contiguous, last dimension fastest */
    uint64_t byte_offset; /* from data to the first element */
} DLTensor;

typedef struct DLManagedTensorVersioned { /* a tensor with its owner: call deleter(self) once after use */
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;
#elif !defined(DLPACK_MAJOR_VERSION) || DLPACK_MAJOR_VERSION < 1
#error "the dlpack.h that was included is older than version 1.0"
#endif

typedef struct scriptc_string { /* UTF-8, n bytes; a NUL follows those of results */
    const char *data;
    int64_t n;
} scriptc_string;

/* The statuses that the functions of entries return. */
enum { SCRIPTC_OK = 0,
       SCRIPTC_RAISED = 1,      /* the compiled code raised what PyTorch would raise */
       SCRIPTC_BAD_ARGUMENT = 2, /* an argument does not fit the compiled code; nothing ran */
       SCRIPTC_CANCELLED = 3     /* the call was cancelled; earlier writes stay */ };

typedef struct scriptc_error { /* of a context's last call; strings live until its next call */
    const char *type;    /* Python exception: "IndexError"; "" when the call succeeded */
    const char *message;
    const char *file, *function, *text; /* the user's line in the Python source, NULL where unknown */
    int line;
    const char *traceback; /* the lines of the traceback, those in torch too, outermost first; "" if unknown */
} scriptc_error;

typedef struct scriptc_output { /* receives print(), warnings and logs of compiled code; NULL: stdout and stderr */
    void (*print)(void *user, const char *text);
    /* category: a Python class, or logging.LEVEL.NAME for a message to the logger of that name; with "once." before it,
       an equal message is to be shown once */
    void (*warn)(void *user, const char *category, const char *message, const char *file, int line);
    void *user;
} scriptc_output;

#ifdef __cplusplus
}
#endif
#endif
