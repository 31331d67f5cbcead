/* The state that the model keeps from call to call, one for each sequence of calls:
@{leaves}
 * A state belongs to one call at a time, and must be freed before its model. A call that fails keeps the values that it
 * has assigned. */
typedef struct @{name}_state @{name}_state;
/* Return a state with the values at build time, or NULL if memory ends or `model` is NULL. */
@{NAME}_API @{name}_state *@{name}_state_new(const @{name}_model *model);
@{NAME}_API void @{name}_state_free(@{name}_state *state);                /* NULL is allowed */
/* Reset to the values at build time. Return false if memory ends or `state` is NULL. */
@{NAME}_API bool @{name}_state_reset(@{name}_state *state);
/* Return false, and leave `to` unchanged, if memory ends. */
@{NAME}_API bool @{name}_state_copy(@{name}_state *to, const @{name}_state *from);
/* Save to a safetensors file, which replaces an earlier one when it is complete, or load one. On failure, return false,
 * write the reason to `error`, which may be NULL, and leave the earlier file or the state unchanged. */
@{NAME}_API bool @{name}_state_save(const @{name}_state *state, const char *path, char *error, size_t error_size);
@{NAME}_API bool @{name}_state_load(@{name}_state *state, const char *path, char *error, size_t error_size);

