/* @{name}_api.c - implements @{name}.h. Made by scriptc. */
#include "sc_names.h"
#include <math.h>
#include <stdlib.h>

#include "sc_package.h"
#include "@{name}.h"

/* @{name}_level.c, compiled once per ISA level, from the slowest to the fastest */
@{levels}

@{weights}
@{user_rows}
@{state}@{embedded_array}
static const sc_package package = {
    .name = "@{name}",
    .levels = levels,
    .n_levels = sizeof levels / sizeof *levels,
    .weights = @{weights_name},
    .n_weights = @{n_weights},
    .n_params = @{n_params},
    .user_rows = @{user_rows_name},
    .leaves = @{leaves},
    .n_leaves = @{n_leaves},
    .uses = @{uses},
    .checksum = @{checksum},
    .embedded = @{embedded},
    .embedded_bytes = @{embedded_bytes},
};

@{name}_model *@{name}_load(const char *weights_path, char *error, size_t error_size)
{
    return (@{name}_model *)sc_model_load(&package, weights_path, error, error_size);
}

void @{name}_free(@{name}_model *model)
{
    sc_model_free((sc_model *)model);
}

const char *@{name}_level(const @{name}_model *model)
{
    return model ? ((const sc_model *)model)->program->level : "";
}

bool @{name}_machine_has(const char *level)
{
    return level && sc_machine_has(level);
}

const char *@{name}_build_id(void)
{
    return "@{build_id}";
}

@{name}_context *@{name}_context_new(const @{name}_model *model)
{
    return model ? (@{name}_context *)sc_caller_new((const sc_model *)model) : NULL;
}

void @{name}_context_free(@{name}_context *context)
{
    sc_caller_free((sc_caller *)context);
}

void @{name}_context_set_threads(@{name}_context *context, int n)
{
    if (context) ((sc_caller *)context)->cx->num_threads = n > 1 ? n : 1;
}

void @{name}_context_set_stack(@{name}_context *context, size_t bytes)
{
    if (context) ((sc_caller *)context)->cx->stack_room = bytes;
}

void @{name}_cancel(@{name}_context *context)
{
    if (context) sc_call_cancel((sc_caller *)context);
}

void @{name}_context_set_check(@{name}_context *context, const char *(*check)(void *user), void *user)
{
    if (!context) return;
    ((sc_caller *)context)->check = check;
    ((sc_caller *)context)->check_user = user;
}

void @{name}_request_check(@{name}_context *context)
{
    if (context) sc_call_request_check((sc_caller *)context);
}

void @{name}_context_set_output(@{name}_context *context, const scriptc_output *output)
{
    if (context) ((sc_caller *)context)->output = output ? *output : (scriptc_output){0};
}

void @{name}_context_set_read_only(@{name}_context *context, bool on)
{
    if (context) ((sc_caller *)context)->read_only = on;
}

void @{name}_context_seed(@{name}_context *context, uint64_t seed)
{
    if (context) sc_caller_seed((sc_caller *)context, seed);
}

const scriptc_error *@{name}_last_error(const @{name}_context *context)
{
    static const scriptc_error none = {.type = "TypeError", .message = "the context is NULL", .traceback = ""};
    return context ? &((const sc_caller *)context)->error : &none;
}

void @{name}_free_tensors(DLManagedTensorVersioned **tensors, int64_t n)
{
    sc_drop_tensors(&tensors, &n);
}

void @{name}_free_array(void *block)
{
    free(block);
}

@{functions}
