/* sc_extension.c - the helpers of scriptc_extension.h, and the frames of calls of an extension. */
#include "sc_extension.h"

#include <inttypes.h>

static __thread sc_extension_call *current; /* the innermost call of an extension on this thread */

void sc_extension_begin(sc_extension_call *call, sc_extension_error *error) {
    error->type[0] = error->message[0] = 0;
    call->outer = current;
    call->error = error;
    call->stream = NULL;
    current = call;
}

int sc_extension_end(sc_extension_call *call) {
    current = call->outer;
    return call->error->type[0] ? -1 : 0;
}

int sc_extension_end_status(sc_extension_call *call, const char *function, long status) {
    if (status) sc_fail("%s failed with status %ld and left no message", function, status);
    return sc_extension_end(call);
}

void sc_extension_use_stream(const DLTensor *t) {
    if (t->device.device_type == kDLCUDA) current->stream = ((const sc_tensor_handle *)t)->stream;
}

void *sc_extension_stream(void) {
    return current ? current->stream : NULL;
}

void sc_extension_abandon(void) {
    if (!current) {
        fputs("scriptc: an extension failed on a thread that no call of it runs on\n", stderr);
        abort();
    }
    longjmp(current->leave, 1);
}

static bool is_exception(const char *name) {
    static const char *const known[] = {
        "ArithmeticError", "AssertionError", "AttributeError", "BufferError", "EOFError", "Exception",
        "FloatingPointError", "IndexError", "KeyError", "LookupError", "MemoryError", "NotImplementedError", "OSError",
        "OverflowError", "RecursionError", "ReferenceError", "RuntimeError", "StopIteration", "SystemError", "TypeError",
        "ValueError", "ZeroDivisionError",
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i])) return true;
    return false;
}

/* Cut a text that snprintf may have cut inside a character of UTF-8. */
static void cut_at_character(char *text) {
    size_t n = strlen(text), start = n;
    while (start > 0 && n - start < 4 && ((unsigned char)text[start - 1] & 0xc0) == 0x80) start--;
    if (start == 0) return;
    const unsigned char lead = (unsigned char)text[start - 1];
    const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (n - (start - 1) < length) text[start - 1] = 0;
}

static void record(const char *exception, const char *format, va_list values) {
    if (!current || current->error->type[0]) return;
    sc_extension_error *error = current->error;
    const bool known = is_exception(exception);
    int n = 0;
    if (!known) n = snprintf(error->message, sizeof error->message, "%.40s: ", exception);
    vsnprintf(error->message + n, sizeof error->message - (size_t)n, format, values);
    cut_at_character(error->message);
    snprintf(error->type, sizeof error->type, "%s", known ? exception : "RuntimeError");
}

int sc_fail(const char *format, ...) {
    va_list values;
    va_start(values, format);
    record("RuntimeError", format, values);
    va_end(values);
    return -1;
}

int sc_fail_as(const char *exception, const char *format, ...) {
    va_list values;
    va_start(values, format);
    record(exception, format, values);
    va_end(values);
    return -1;
}

void sc_th_error(const char *format, ...) {
    va_list values;
    va_start(values, format);
    record("RuntimeError", format, values);
    va_end(values);
    sc_extension_abandon();
}

void sc_th_argument_error(int argument, const char *format, ...) {
    char message[900];
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof message, format, values);
    va_end(values);
    sc_th_error("invalid argument %d: %s", argument, message);
}

/* ---- tensors ---- */

int64_t sc_numel(const DLTensor *t) {
    int64_t n = 1;
    for (int32_t i = 0; i < t->ndim; i++) n *= t->shape[i];
    return n;
}

bool sc_same_size(const DLTensor *a, const DLTensor *b) {
    if (a->ndim != b->ndim) return false;
    for (int32_t i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

bool sc_tensor_is_contiguous(const DLTensor *t) {
    if (!t->strides || sc_numel(t) == 0) return true;
    int64_t expected = 1;
    for (int32_t i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] != 1 && t->strides[i] != expected) return false;
        expected *= t->shape[i];
    }
    return true;
}

int sc_resize(DLTensor *t, int32_t ndim, const int64_t *sizes) {
    sc_tensor_handle *handle = (sc_tensor_handle *)t;
    if (ndim == t->ndim && !memcmp(sizes, t->shape, (size_t)ndim * sizeof *sizes)) return 0;
    int64_t bytes = t->dtype.bits / 8;
    for (int32_t i = 0; i < ndim; i++) {
        if (sizes[i] < 0) return sc_fail("cannot resize a tensor to the negative size %" PRId64, sizes[i]);
        if (__builtin_mul_overflow(bytes, sizes[i] ? sizes[i] : 1, &bytes))
            return sc_fail("cannot resize a tensor to sizes whose product is over 64 bits");
    }
    if (!handle->resize) return sc_fail("a tensor that is passed as const cannot be resized");
    return handle->resize(handle, ndim, sizes);
}

int sc_resize_as(DLTensor *t, const DLTensor *other) {
    return sc_resize(t, other->ndim, other->shape);
}

/* ---- checks ---- */

static const char *sizes_text(const DLTensor *t, char *text, size_t room) {
    size_t n = (size_t)snprintf(text, room, "[");
    for (int32_t i = 0; i < t->ndim && n < room; i++)
        n += (size_t)snprintf(text + n, room - n, i ? ", %" PRId64 : "%" PRId64, t->shape[i]);
    if (n < room) snprintf(text + n, room - n, "]");
    return text;
}

int sc_check_same_size(const DLTensor *a, const DLTensor *b, const char *name, const char *other_name) {
    if (sc_same_size(a, b)) return 0;
    char sizes[200], other_sizes[200];
    return sc_fail("%s and %s have different sizes: %s and %s", name, other_name, sizes_text(a, sizes, sizeof sizes),
                   sizes_text(b, other_sizes, sizeof other_sizes));
}

int sc_check_ndim(const DLTensor *t, int32_t ndim, const char *name) {
    if (t->ndim == ndim) return 0;
    char sizes[200];
    return sc_fail("%s must have %d dimensions, but has the sizes %s", name, (int)ndim, sizes_text(t, sizes, sizeof sizes));
}

int sc_check_contiguous(const DLTensor *t, const char *name) {
    return sc_tensor_is_contiguous(t) ? 0 : sc_fail("%s must be contiguous", name);
}

static void dtype_name(DLDataType dtype, char *name, size_t room) {
    static const char *const kinds[] = {
        [kDLInt] = "int", [kDLUInt] = "uint", [kDLFloat] = "float", [kDLBfloat] = "bfloat", [kDLComplex] = "complex"};
    if (dtype.code == kDLBool) snprintf(name, room, "bool");
    else if (dtype.code < sizeof kinds / sizeof *kinds && kinds[dtype.code])
        snprintf(name, room, "%s%d", kinds[dtype.code], dtype.bits);
    else snprintf(name, room, "dtype %d of %d bits", dtype.code, dtype.bits);
}

int sc_check_dtype(const DLTensor *t, const char *dtype, const char *name) {
    char own[40];
    dtype_name(t->dtype, own, sizeof own);
    return strcmp(own, dtype) ? sc_fail("%s must be a tensor of %s, but is one of %s", name, dtype, own) : 0;
}

int sc_extension_check_int(int64_t value, int bits, bool is_signed, const char *function, const char *name, const char *type) {
    if (bits == 64) return 0;
    const int64_t low = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
    const int64_t high = is_signed ? (INT64_C(1) << (bits - 1)) - 1 : (INT64_C(1) << bits) - 1;
    if (value >= low && value <= high) return 0;
    return sc_fail_as("OverflowError", "%s: %s is %" PRId64 ", which does not fit %s", function, name, value, type);
}

int sc_extension_check_float(double value, const char *function, const char *name, const char *type) {
    if (!isfinite(value) || isfinite((float)value)) return 0;
    return sc_fail_as("OverflowError", "%s: %s is %g, which does not fit %s", function, name, value, type);
}

int sc_extension_check_tensor(const DLTensor *t, const char *dtype, bool is_cuda, const char *function, const char *name,
                              const char *type) {
    char own[40];
    dtype_name(t->dtype, own, sizeof own);
    if (*dtype && strcmp(own, dtype))
        return sc_fail_as("TypeError", "%s: %s must be a tensor of %s (%s), but is one of %s", function, name, dtype, type, own);
    if (is_cuda && t->device.device_type != kDLCUDA)
        return sc_fail_as("TypeError", "%s: %s must be a tensor on a CUDA device (%s), but is on the CPU", function, name, type);
    if (*dtype && !is_cuda && t->device.device_type != kDLCPU)
        return sc_fail_as("TypeError", "%s: %s must be a tensor on the CPU (%s), but is on a CUDA device", function, name, type);
    return 0;
}
