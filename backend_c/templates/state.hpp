// The state that the model keeps from call to call, one for each sequence of calls. A copy continues from the state of
// the original. The model must outlive its states.
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
    void reset() // to the values at build time
    {
        if (!@{name}_state_reset(state_.get())) throw std::bad_alloc();
    }
    void save(const std::string &path) const // to a safetensors file
    {
        char why[512];
        if (!@{name}_state_save(state_.get(), path.c_str(), why, sizeof why)) throw std::runtime_error(why);
    }
    void load(const std::string &path)
    {
        char why[512];
        if (!@{name}_state_load(state_.get(), path.c_str(), why, sizeof why)) throw std::runtime_error(why);
    }
    @{name}_state *get() const { return state_.get(); }

private:
    struct Free {
        void operator()(@{name}_state *s) const { @{name}_state_free(s); }
    };
    const @{name}_model *model_;
    std::unique_ptr<@{name}_state, Free> state_;
};

