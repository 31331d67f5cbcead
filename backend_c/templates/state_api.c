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
