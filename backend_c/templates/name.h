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

/* Load a model. @{load}
 * On failure, return NULL and write the reason to `error`, which may be NULL. */
@{NAME}_API @{name}_model *@{name}_load(const char *weights_path, char *error, size_t error_size);
@{NAME}_API void @{name}_free(@{name}_model *model); /* free its contexts first; NULL is allowed */

/* Return the ISA level that the model runs at: "baseline", "avx2", "avx512", or "native" if the package has only that
 * one. For tests, the environment variable SC_FORCE_LEVEL chooses the level. */
@{NAME}_API const char *@{name}_level(const @{name}_model *model);
@{NAME}_API bool @{name}_machine_has(const char *level);
@{NAME}_API const char *@{name}_build_id(void);

/* Return NULL if memory ends or `model` is NULL. */
@{NAME}_API @{name}_context *@{name}_context_new(const @{name}_model *model);
@{NAME}_API void @{name}_context_free(@{name}_context *context);        /* NULL is allowed */
@{NAME}_API void @{name}_context_set_threads(@{name}_context *context, int n); /* at most n threads; 1 at first */
/* Set the number of stack bytes that recursion in a call may use before it raises RecursionError. 0, the default, means
 * the free bytes of the calling thread's stack. Programs that call on stacks of their own, such as those of coroutines,
 * set the size of these. */
@{NAME}_API void @{name}_context_set_stack(@{name}_context *context, size_t bytes);
/* End the context's running call at the next iteration of a loop, with SCRIPTC_CANCELLED. Without a running call, do
 * nothing. Any thread and signal handlers may call this function. */
@{NAME}_API void @{name}_cancel(@{name}_context *context);
/* Set the function that decides whether a call goes on. After each @{name}_request_check, which any thread or a signal
 * handler may call, the thread of the call runs `check` once, at the next iteration of a loop. If `check` returns NULL,
 * the call goes on; if it returns the name of a Python exception, the call raises that exception. `check` is NULL by
 * default: nothing is run. */
@{NAME}_API void @{name}_context_set_check(@{name}_context *context, const char *(*check)(void *user), void *user);
@{NAME}_API void @{name}_request_check(@{name}_context *context);
/* Copies `output`. */
@{NAME}_API void @{name}_context_set_output(@{name}_context *context, const scriptc_output *output);
@{NAME}_API void @{name}_context_set_read_only(@{name}_context *context, bool on); /* on: writes to arguments raise */
/* Seed the random numbers. The next calls draw those that the original draws after torch.manual_seed(seed) and
 * random.seed(seed), and np.random.seed(seed) for seeds below 2^32. */
@{NAME}_API void @{name}_context_seed(@{name}_context *context, uint64_t seed);

/* Return the error of the context's last call, never NULL. Its strings live until the next call.@{exceptions} */
@{NAME}_API const scriptc_error *@{name}_last_error(const @{name}_context *context);

@{NAME}_API void @{name}_free_tensors(DLManagedTensorVersioned **tensors, int64_t n); /* a list of result tensors */
@{NAME}_API void @{name}_free_array(void *block); /* result numbers or strings, or the data of a string */

/* ---- entries: return SCRIPTC_OK, or another code with the reason in @{name}_last_error() ----
 * If a context, a result, an argument or a state is NULL, an entry returns SCRIPTC_BAD_ARGUMENT.
 * @{name}_last_error(NULL) says that the context is NULL. Other functions do nothing if the context is NULL. */

@{declarations}
#ifdef __cplusplus
}
#endif
#endif
