/* sc_th.c - the functions of scriptc_th.h. */
#include "sc_extension.h"

void *THAlloc(ptrdiff_t size) {
    if (size < 0) sc_th_error("$ Torch: invalid memory size -- maybe an overflow?");
    void *block = malloc(size ? (size_t)size : 1);
    if (!block) sc_th_error("$ Torch: not enough memory: you tried to allocate %td bytes", size);
    return block;
}

void THFree(void *block) {
    free(block);
}

/* ---- tensors that C code makes ---- */

typedef struct owned_tensor {
    sc_tensor_handle handle;
    int64_t capacity; /* bytes */
    int64_t *layout;  /* the sizes, then the strides */
} owned_tensor;

static int resize_owned(sc_tensor_handle *self, int32_t ndim, const int64_t *sizes) {
    owned_tensor *owned = (owned_tensor *)self;
    int64_t *layout = malloc((2 * (size_t)ndim + 1) * sizeof *layout);
    if (!layout) return sc_fail_as("MemoryError", "not enough memory to resize a tensor");
    int64_t n = 1;
    for (int32_t i = ndim - 1; i >= 0; i--) {
        layout[i] = sizes[i];
        layout[ndim + i] = n;
        n *= sizes[i];
    }
    const int64_t bytes = n * (self->tensor.dtype.bits / 8);
    if (bytes > owned->capacity) {
        void *data = realloc(self->tensor.data, (size_t)bytes);
        if (!data) {
            free(layout);
            return sc_fail_as("MemoryError", "not enough memory for a tensor of %lld bytes", (long long)bytes);
        }
        self->tensor.data = data;
        owned->capacity = bytes;
    }
    free(owned->layout);
    owned->layout = self->tensor.shape = layout;
    self->tensor.strides = layout + ndim;
    self->tensor.ndim = ndim;
    return 0;
}

static DLTensor *make(uint8_t code, uint8_t bits, int32_t ndim, const int64_t *sizes) {
    owned_tensor *owned = calloc(1, sizeof *owned);
    if (!owned) sc_th_error("not enough memory for a tensor");
    sc_tensor_handle *handle = &owned->handle;
    handle->tensor.device.device_type = kDLCPU;
    handle->tensor.dtype = (DLDataType){code, bits, 1};
    handle->tensor.ndim = -1; /* differs from the sizes of every tensor */
    handle->resize = resize_owned;
    handle->references = 1;
    handle->owner = owned;
    if (sc_resize(&handle->tensor, ndim, sizes)) {
        free(owned);
        sc_extension_abandon();
    }
    return &handle->tensor;
}

static void release(DLTensor *self) {
    if (!self) return;
    sc_tensor_handle *handle = (sc_tensor_handle *)self;
    if (handle->resize != resize_owned || --handle->references > 0) return; /* the caller owns the others */
    owned_tensor *owned = (owned_tensor *)handle;
    free(self->data);
    free(owned->layout);
    free(owned);
}

/* ---- elements ---- */

/* Return the place of element i of a tensor, in elements from the first. */
static int64_t place(const DLTensor *t, int64_t i) {
    int64_t at = 0;
    for (int32_t d = t->ndim - 1; d >= 0; d--) {
        at += i % t->shape[d] * t->strides[d];
        i /= t->shape[d];
    }
    return at;
}

static void resize(DLTensor *t, int32_t ndim, const int64_t *sizes) {
    if (sc_resize(t, ndim, sizes)) sc_extension_abandon();
}

static int64_t axis(const DLTensor *t, int dim) {
    THArgCheck(dim >= 0 && dim < t->ndim, 2, "dimension %d out of range of %dD tensor", dim, (int)t->ndim);
    return dim;
}

static void require_equal_count(const DLTensor *a, const DLTensor *b) {
    if (sc_numel(a) != sc_numel(b))
        sc_th_error("inconsistent tensor size: %lld and %lld elements", (long long)sc_numel(a), (long long)sc_numel(b));
}

static int64_t checked_place(const DLTensor *t, int ndim, int64_t x0, int64_t x1) {
    THArgCheck(t->ndim == ndim, 1, "tensor must have %d dimension%s", ndim, ndim == 1 ? "" : "s");
    THArgCheck(x0 >= 0 && x0 < t->shape[0] && (ndim < 2 || (x1 >= 0 && x1 < t->shape[1])), 2, "out of range");
    return x0 * t->strides[0] + (ndim < 2 ? 0 : x1 * t->strides[1]);
}

/* Run a statement for each element i of tensors that have as many elements. AT(t) is the place of element i in t. */
#define FOR_EACH(t, flat, statement) \
    do { \
        const int64_t n_ = sc_numel(t); \
        if (flat) { \
            SC_TH_FLAT(statement) \
        } else { \
            SC_TH_STRIDED(statement) \
        } \
    } while (0)
#define SC_TH_FLAT(statement) for (int64_t i = 0, flat_ = 1; i < n_; i++) { (void)flat_; statement; }
#define SC_TH_STRIDED(statement) for (int64_t i = 0, flat_ = 0; i < n_; i++) { (void)flat_; statement; }
#define AT(t) (flat_ ? i : place(t, i))
#define FLAT(t) sc_tensor_is_contiguous(t)

#define real float
#define accreal double
#define TYPE_CODE kDLFloat
#define TH(name) THFloatTensor_##name
#define TENSOR THFloatTensor
#include "sc_th.inc"

#define real double
#define accreal double
#define TYPE_CODE kDLFloat
#define TH(name) THDoubleTensor_##name
#define TENSOR THDoubleTensor
#include "sc_th.inc"

#define INTEGERS

#define real int64_t
#define accreal int64_t
#define TYPE_CODE kDLInt
#define TH(name) THLongTensor_##name
#define TENSOR THLongTensor
#include "sc_th.inc"

#define real int32_t
#define accreal int64_t
#define TYPE_CODE kDLInt
#define TH(name) THIntTensor_##name
#define TENSOR THIntTensor
#include "sc_th.inc"

#define real int16_t
#define accreal int64_t
#define TYPE_CODE kDLInt
#define TH(name) THShortTensor_##name
#define TENSOR THShortTensor
#include "sc_th.inc"

#define real int8_t
#define accreal int64_t
#define TYPE_CODE kDLInt
#define TH(name) THCharTensor_##name
#define TENSOR THCharTensor
#include "sc_th.inc"

#define real uint8_t
#define accreal int64_t
#define TYPE_CODE kDLUInt
#define TH(name) THByteTensor_##name
#define TENSOR THByteTensor
#include "sc_th.inc"
