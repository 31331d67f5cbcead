@{name}_state *@{name}_state_new(const @{name}_model *model)
{
    return model ? (@{name}_state *)sc_state_new((const sc_model *)model) : NULL;
}

void @{name}_state_free(@{name}_state *state)
{
    sc_state_free((sc_state *)state);
}

bool @{name}_state_reset(@{name}_state *state)
{
    return state && sc_state_reset((sc_state *)state) == 0;
}

bool @{name}_state_copy(@{name}_state *to, const @{name}_state *from)
{
    return to && from && sc_state_copy((sc_state *)to, (const sc_state *)from) == 0;
}

bool @{name}_state_save(const @{name}_state *state, const char *path, char *error, size_t error_size)
{
    sc_text text = {error, error_size};
    return !(state ? sc_state_save((const sc_state *)state, path, text) : sc_tell(text, "the state is NULL"));
}

bool @{name}_state_load(@{name}_state *state, const char *path, char *error, size_t error_size)
{
    sc_text text = {error, error_size};
    return !(state ? sc_state_load((sc_state *)state, path, text) : sc_tell(text, "the state is NULL"));
}
