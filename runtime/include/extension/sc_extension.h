/* sc_extension.h - between the helpers of scriptc_extension.h and the functions that scriptc writes, which call the
 * functions of an extension. Not for extensions themselves. */
#ifndef SC_EXTENSION_H
#define SC_EXTENSION_H

#include <setjmp.h>

#include "scriptc_extension.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sc_extension_error {
    char type[48]; /* the name of the Python exception, "" if there is none */
    char message[1024];
} sc_extension_error;

typedef struct sc_extension_call { /* one call that is under way on this thread */
    struct sc_extension_call *outer;
    sc_extension_error *error;
    void *stream; /* of CUDA */
    jmp_buf leave;
} sc_extension_call;

typedef union sc_extension_value { /* an argument or a result; bools are ints */
    int64_t i;
    double f;
    const char *s;
    DLTensor *t;
} sc_extension_value;

#ifndef SC_EXTENSION_EXPORT
#define SC_EXTENSION_EXPORT __attribute__((visibility("default")))
#endif

/* The type of each function that scriptc writes for a function of an extension: 0, or -1 with an error. */
typedef int sc_extension_function(sc_extension_error *error, const sc_extension_value *args, sc_extension_value *result);

/* What a function may not be given: -1 after sc_fail_as(). The texts are the function's name, the parameter's name and
 * its type in C. A value of 64 bits without sign is passed by its bits. */
int sc_extension_check_int(int64_t value, int bits, bool is_signed, const char *function, const char *name, const char *type);
int sc_extension_check_float(double value, const char *function, const char *name, const char *type);
int sc_extension_check_tensor(const DLTensor *t, const char *dtype, bool is_cuda, const char *function, const char *name,
                              const char *type);

/* Begin a call. The caller then uses setjmp(call->leave), to which sc_extension_abandon() jumps. */
void sc_extension_begin(sc_extension_call *call, sc_extension_error *error);
/* End the call. Return 0, or -1 if there is an error. */
int sc_extension_end(sc_extension_call *call);
/* End the call with an error if `status` is not 0 and the function left no message. */
int sc_extension_end_status(sc_extension_call *call, const char *function, long status);
/* Let CUDA code of the call run on the stream of a tensor, if the tensor is on a CUDA device. */
void sc_extension_use_stream(const DLTensor *t);
void *sc_extension_stream(void);
/* Leave the running function for the end of its call, after sc_fail(). */
void sc_extension_abandon(void) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif
#endif
