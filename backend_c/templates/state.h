/* What the model keeps from call to call, one for each sequence:
@{leaves}
 * A state belongs to one call at a time, and must go before its model. Calls that fail keep what they had set before. */
typedef struct @{name}_state @{name}_state;
@{NAME}_API @{name}_state *@{name}_state_new(const @{name}_model *model); /* as it was when this was built; NULL: out of memory, or of no model */
@{NAME}_API void @{name}_state_free(@{name}_state *state);                /* NULL is allowed */
@{NAME}_API bool @{name}_state_reset(@{name}_state *state);               /* as it was when this was built; false: out of memory, or no state */
@{NAME}_API bool @{name}_state_copy(@{name}_state *to, const @{name}_state *from); /* false: out of memory, `to` is as it was */

