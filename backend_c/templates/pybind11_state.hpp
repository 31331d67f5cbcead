// Python's State: what a model keeps from call to call.
class Kept {
public:
    explicit Kept(std::shared_ptr<const Model> of) : model(std::move(of)), state(*model) {}
    void reset()
    {
        Lock::Held held(lock);
        state.reset();
    }
    std::shared_ptr<Kept> copy()
    {
        auto made = std::make_shared<Kept>(model);
        Lock::Held held(lock);
        made->state = state;
        return made;
    }
    void save(const py::object &path)
    {
        std::string text = path_of(path);
        Lock::Held held(lock);
        py::gil_scoped_release release;
        state.save(text);
    }
    void load(const py::object &path)
    {
        std::string text = path_of(path);
        Lock::Held held(lock);
        py::gil_scoped_release release;
        state.load(text);
    }
    std::shared_ptr<const Model> model;
    State state;
    Lock lock;

private:
    static std::string path_of(const py::object &path) { return objects->helper("os").attr("fsencode")(path).cast<std::string>(); }
};

