/* @{name}.h - the C API of @{name}. Made by scriptc.
 *
 *     char why[256];
 *     @{name}_model *model = @{name}_load("@{name}.safetensors", why, sizeof why);
 *     @{name}_context *context = @{name}_context_new(model);
 *
 * A model may be shared by threads; a context belongs to one thread at a time. Tensors are DLPack's: arguments stay the
 * caller's and may have any strides; results are the caller's to free, with tensor->deleter(tensor). An argument that the
 * compiled code writes to is written in place. An argument that is also a result comes back as a copy. */
#ifndef @{NAME}_H
#define @{NAME}_H
#include "scriptc_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef @{NAME}_API
#define @{NAME}_API __attribute__((visibility("default")))
#endif

typedef struct @{name}_model @{name}_model;
typedef struct @{name}_context @{name}_context;

/* @{load}
 * NULL on failure, with the reason in error (which may be NULL). */
@{NAME}_API @{name}_model *@{name}_load(const char *weights_path, char *error, size_t error_size);
@{NAME}_API void @{name}_free(@{name}_model *model); /* after its contexts; NULL is allowed */

/* The ISA level that was chosen: "baseline", "avx2", "avx512", or "native" where there is one alone. The environment
 * variable SC_FORCE_LEVEL names the level to take, for tests. */
@{NAME}_API const char *@{name}_level(const @{name}_model *model);
@{NAME}_API bool @{name}_machine_has(const char *level);
@{NAME}_API const char *@{name}_build_id(void);

@{NAME}_API @{name}_context *@{name}_context_new(const @{name}_model *model); /* NULL: out of memory, or of no model */
@{NAME}_API void @{name}_context_free(@{name}_context *context);        /* NULL is allowed */
@{NAME}_API void @{name}_context_set_threads(@{name}_context *context, int n); /* at most n threads; 1 at first */
/* Bytes of stack that recursion in a call may take before RecursionError; 0, as at first: as many as the stack of the calling
 * thread has room for. Programs that call on stacks of their own, as those of coroutines, say how much there is. */
@{NAME}_API void @{name}_context_set_stack(@{name}_context *context, size_t bytes);
/* Ends the running call of the context at the next iteration of a loop, with SCRIPTC_CANCELLED; without one, it does nothing. Any
 * thread may call it, and so may a signal handler. */
@{NAME}_API void @{name}_cancel(@{name}_context *context);
/* `check` decides whether a call goes on: the thread of the call runs it at the next iteration of a loop, once for each
 * @{name}_request_check, which any thread or a signal handler may call. NULL goes on; the name of a Python exception ends the call
 * with that exception. A check that is NULL, as at first, is never run. */
@{NAME}_API void @{name}_context_set_check(@{name}_context *context, const char *(*check)(void *user), void *user);
@{NAME}_API void @{name}_request_check(@{name}_context *context);
@{NAME}_API void @{name}_context_set_output(@{name}_context *context, const scriptc_output *output); /* copied */
@{NAME}_API void @{name}_context_set_read_only(@{name}_context *context, bool on); /* on: code that writes to an argument fails */
/* Random numbers from here on are those that the original draws behind torch.manual_seed(seed) and random.seed(seed). */
@{NAME}_API void @{name}_context_seed(@{name}_context *context, uint64_t seed);

/* Of the context's last call; strings live until its next one. Never NULL. */
@{NAME}_API const scriptc_error *@{name}_last_error(const @{name}_context *context);

@{NAME}_API void @{name}_free_tensors(DLManagedTensorVersioned **tensors, int64_t n); /* a list of result tensors */
@{NAME}_API void @{name}_free_array(void *block); /* a list of result numbers or strings, or the data of a result string */

/* ---- entries: return SCRIPTC_OK, or another code with the reason in @{name}_last_error() ----
 * NULL for a context, a result, an argument or a state is SCRIPTC_BAD_ARGUMENT; @{name}_last_error(NULL) says that the context
 * is NULL. Other functions do nothing where the context is NULL. */

@{declarations}
#ifdef __cplusplus
}
#endif
#endif
