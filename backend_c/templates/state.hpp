// What the model keeps from call to call; one for each sequence. Copies go on from where the original is. The model must
// outlive it.
class State {
public:
    explicit State(const Model &model) : model_(model.get()), state_(@{name}_state_new(model.get()))
    {
        if (!state_) throw std::bad_alloc();
    }
    State(const State &from) : model_(from.model_), state_(@{name}_state_new(from.model_))
    {
        if (!state_ || !@{name}_state_copy(state_.get(), from.get())) throw std::bad_alloc();
    }
    State &operator=(const State &from)
    {
        if (!@{name}_state_copy(state_.get(), from.get())) throw std::bad_alloc();
        return *this;
    }
    State(State &&) = default;
    State &operator=(State &&) = default;
    void reset() // as it was when this was built
    {
        if (!@{name}_state_reset(state_.get())) throw std::bad_alloc();
    }
    @{name}_state *get() const { return state_.get(); }

private:
    struct Free {
        void operator()(@{name}_state *s) const { @{name}_state_free(s); }
    };
    const @{name}_model *model_;
    std::unique_ptr<@{name}_state, Free> state_;
};

