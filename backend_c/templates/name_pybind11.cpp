// @{name}_pybind11.cpp - the Python extension module @{name}_pybind11, which calls @{name}.hpp. Made by scriptc.
#include "@{name}_pybind11.hpp"

namespace @{name} {
namespace binding {

static const char *const HELPERS = R"___(@{messages}

import collections
import json
import os
import threading


def find_weights(module):
    """Return the path of the weights beside the module, in the folder above, or in the folder of pip's package."""
    folder = os.path.dirname(os.path.abspath(module))
    places = [folder, os.path.dirname(folder), os.path.join(folder, "@{name}")]
    paths = [os.path.join(place, "@{name}.safetensors") for place in places]
    return next(filter(os.path.exists, paths), paths[0])


def add_note(error, where):
    if where and hasattr(error, "add_note"):
        error.add_note(where.decode(errors="replace"))
    return error
)___";
static const char EXCEPTIONS[] = @{exceptions};

@{state_class}// Python's Model: a model, a context for each thread, and a state.
class Loaded {
public:
    Loaded(std::shared_ptr<const Model> of, int threads, Results results)
        : model(std::move(of)),
          exceptions(objects->helper("exception_classes")(objects->helper("json").attr("loads")(EXCEPTIONS), "@{name}")),
          local_(objects->helper("threading").attr("local")()), threads_(threads), results_(results)
    {
@{state_new}    }
    std::shared_ptr<Loaded> copy() const
    {
        auto made = std::make_shared<Loaded>(model, threads_, results_);
        made->exceptions = exceptions;
@{state_copy}        return made;
    }
    void seed(uint64_t seed) { worker()->context.seed(seed); }

    // Run `call` without the GIL, with a context of this thread.
    template <class Call> auto run(Arguments &arguments, Call call)
    {
        arguments.has_run = true;
        std::shared_ptr<Worker> mine = worker();
        @{name}_context_set_read_only(mine->context.get(), arguments.is_read_only);
@{state_held}        Running running(*mine);
        try {
            py::gil_scoped_release release;
            return call(mine->context@{state_passed});
        } catch (const Error &error) {
            arguments.has_run = error.code() != SCRIPTC_BAD_ARGUMENT;
            raise(*mine);
        }
    }

    // ---- results ----
    Results form(const Arguments &arguments) const
    {
        if (results_ != Results::as_arguments) return results_;
        return arguments.has_torch ? Results::torch : Results::numpy;
    }

    std::shared_ptr<const Model> model;
    py::object exceptions;
@{state_member}
private:
    struct Running { // a call, which signal handlers may interrupt in the main thread
        explicit Running(Worker &of) : worker(of), is_main(PyThread_get_thread_ident() == main_thread)
        {
            worker.is_running = true;
            Py_CLEAR(worker.raised);
            if (is_main) outer = signals->enter(worker.context.get());
        }
        ~Running()
        {
            if (is_main) signals->leave(outer);
            worker.is_running = false;
        }
        Worker &worker;
        bool is_main;
        @{name}_context *outer = nullptr;
    };

    // Return the context of this thread, or a new one within a call, such as for a signal handler.
    std::shared_ptr<Worker> worker()
    {
        if (!py::hasattr(local_, "worker")) local_.attr("worker") = std::make_shared<Worker>(model, threads_);
        auto mine = local_.attr("worker").cast<std::shared_ptr<Worker>>();
        return mine->is_running ? std::make_shared<Worker>(model, threads_) : mine;
    }

    // Raise the error of a context's last call, or what a signal handler has raised during it.
    [[noreturn]] void raise(Worker &worker) const
    {
        const scriptc_error *error = @{name}_last_error(worker.context.get());
        py::object raised;
        if (worker.raised) {
            raised = py::reinterpret_steal<py::object>(std::exchange(worker.raised, nullptr));
            raised = objects->helper("add_note")(raised, py::bytes(error->traceback));
        } else {
            raised = objects->helper("exception")(py::bytes(error->type), py::bytes(error->message),
                                                    py::bytes(error->traceback), exceptions);
        }
        PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(raised.ptr())), raised.ptr());
        throw py::error_already_set();
    }

    py::object local_;
    int threads_;
    Results results_;
};

// ---- results as Python objects ----

inline const char *dtype_name(DLDataType dtype)
{
    static const struct {
        uint8_t code, bits;
        const char *name;
    } names[] = {{kDLBool, 8, "bool"},      {kDLUInt, 8, "uint8"},     {kDLInt, 8, "int8"},         {kDLInt, 16, "int16"},
                 {kDLInt, 32, "int32"},     {kDLInt, 64, "int64"},     {kDLFloat, 16, "float16"},   {kDLFloat, 32, "float32"},
                 {kDLFloat, 64, "float64"}, {kDLBfloat, 16, "bfloat16"}, {kDLComplex, 64, "complex64"}, {kDLComplex, 128, "complex128"}};
    for (const auto &each : names)
        if (each.code == dtype.code && each.bits == dtype.bits) return each.name;
    return "?";
}

inline py::dtype numpy_dtype(DLDataType dtype)
{
    if (dtype.code != kDLBfloat) return py::dtype(dtype_name(dtype));
    try {
        return py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16"));
    } catch (py::error_already_set &error) {
        py::raise_from(error, PyExc_TypeError, "numpy has no bfloat16: install ml_dtypes to get such tensors");
        throw py::error_already_set();
    }
}

inline py::object give(Tensor &&tensor, Results form)
{
    const DLTensor t = tensor.dlpack();
    auto exported = std::make_shared<Exported>(std::move(tensor));
    py::object owner = py::cast(exported);
    if (form == Results::dlpack) return owner;
    if (form == Results::torch) {
        if (!find_torch(true)) throw py::import_error("torch is not there, and results are to be its tensors");
        return objects->from_dlpack(owner);
    }
    std::vector<py::ssize_t> shape, strides;
    for (int d = 0; d < t.ndim; d++) {
        shape.push_back(static_cast<py::ssize_t>(t.shape[d]));
        strides.push_back(static_cast<py::ssize_t>(t.strides[d] * (t.dtype.bits / 8)));
    }
    return py::array(numpy_dtype(t.dtype), shape, strides, static_cast<char *>(t.data) + t.byte_offset, owner);
}

inline py::object give(int64_t value, Results) { return py::int_(value); }
inline py::object give(double value, Results) { return py::float_(value); }
inline py::object give(bool value, Results) { return py::bool_(value); }
inline py::object give(const std::string &value, Results)
{
    auto made = PyUnicode_DecodeUTF8(value.data(), static_cast<py::ssize_t>(value.size()), "surrogatepass");
    if (!made) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
}
template <class T> py::object give(std::vector<T> &&values, Results form)
{
    py::list out;
    for (auto &&value : values) {
        if constexpr (std::is_same_v<T, bool>) out.append(py::bool_(value));
        else out.append(give(std::move(value), form));
    }
    return out;
}

inline py::object give_complex(double real, double imaginary)
{
    return py::reinterpret_steal<py::object>(PyComplex_FromDoubles(real, imaginary));
}

inline py::object give_dict(std::initializer_list<std::pair<py::object, py::object>> items)
{
    py::dict out;
    for (const auto &[key, value] : items) out[key] = value;
    return out;
}

inline py::object give_list(std::initializer_list<py::object> items)
{
    py::list out;
    for (const py::object &item : items) out.append(item);
    return out;
}

template <class T> void unused(const T &) {}

// ---- entries ----

// Add why a signature does not take the arguments, within a handler of an exception; throw on where the call has begun.
inline void add_reason(std::string &reasons, const char *signature, const Arguments &arguments)
{
    std::string why;
    try {
        throw;
    } catch (py::error_already_set &error) {
        bool unfit = error.matches(PyExc_TypeError) || error.matches(PyExc_ValueError) || error.matches(PyExc_OverflowError);
        if (arguments.has_run || !unfit) throw;
        why = py::str(error.value());
    } catch (const py::builtin_exception &error) {
        if (arguments.has_run) throw;
        why = error.what();
    }
    reasons += std::string("\n  ") + signature + ": " + why;
}

@{entries}
static void prepare(const py::module_ &module)
{
    objects = new Objects;
    py::dict helpers;
    helpers["__builtins__"] = py::module_::import("builtins");
    helpers["__name__"] = module.attr("__name__");
    py::exec(HELPERS, helpers);
    objects->helpers = helpers;
    objects->opaque = helpers["json"].attr("JSONDecoder")(); // an object that nobody else has
    objects->dlpack_name = py::str("__dlpack__");
    objects->dlpack_keyword = py::make_tuple("max_version");
    objects->dlpack_version = py::make_tuple(1, 0);
    for (const char *text : std::initializer_list<const char *>{@{constants}})
        objects->constants.push_back(helpers["json"].attr("loads")(text));
    for (const char *text : std::initializer_list<const char *>{@{classes}}) {
        py::list row = helpers["json"].attr("loads")(text);
        objects->classes.push_back(helpers["collections"].attr("namedtuple")(*row));
    }
    prepare_signals();
}

} // namespace binding
} // namespace @{name}

PYBIND11_MODULE(@{name}_pybind11, module)
{
    namespace py = pybind11;
    using namespace @{name}::binding;
    prepare(module);
    py::options options;
    options.disable_function_signatures(); // docstrings begin with signatures that `inspect` reads
    module.doc() = @{module_doc};
    py::class_<Worker, std::shared_ptr<Worker>>(module, "_Context", py::module_local());
    py::class_<Exported, std::shared_ptr<Exported>>(module, "Tensor", py::module_local(), "A result, which __dlpack__ exports.")
        .def("__dlpack__", [](const Exported &self, const py::object &, const py::object &max_version, const py::object &,
                              const py::object &) { return self.capsule(max_version); },
             py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
             py::arg("dl_device") = py::none(), py::arg("copy") = py::none(),
             "__dlpack__(self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nReturn a capsule of DLPack.")
        .def("__dlpack_device__", [](const Exported &) { return py::make_tuple(static_cast<int>(kDLCPU), 0); },
             "__dlpack_device__(self, /)\n--\n\nReturn the CPU, as DLPack numbers it.");
@{state_bound}    py::class_<Loaded, std::shared_ptr<Loaded>> model(module, "Model", py::module_local(),
        "The loaded code and weights. Each entry is a method; a model with one entry can be called itself.");
    model.def_property_readonly("level", [](const Loaded &self) { return self.model->level(); }, "The ISA level of the code.")
@{state_property}        .def_readonly("exceptions", &Loaded::exceptions, "The exception classes of the original's own, by name.")
        .def("seed", &Loaded::seed, py::arg("seed"),
             "seed(self, /, seed)\n--\n\nDo what torch.manual_seed, random.seed and np.random.seed do, for the calls of this thread.")
        .def("copy", &Loaded::copy,
             "copy(self, /)\n--\n\nReturn a model of the same weights, with a copy of the state and random numbers of its own.");
@{bound}
    module.def("load", [module](const py::object &weights, int threads, const py::object &results) {
        py::object given = weights;
        if (@{has_weights_file} && weights.is_none()) given = objects->helper("find_weights")(module.attr("__file__"));
        auto path = given.is_none() ? std::string() : py::module_::import("os").attr("fsencode")(given).cast<std::string>();
        Results form = results_of(results);
        auto loaded = std::make_shared<const @{name}::Model>(path);
        return std::make_shared<Loaded>(loaded, threads, form);
    }, py::arg("weights") = py::none(), py::arg("threads") = 1, py::arg("results") = py::none(),
        "load(weights=None, threads=1, results=None)\n--\n\n"
        "Return the model.\n\n"
        "weights: a safetensors file other than that of the package.\n"
        "threads: a call uses at most so many.\n"
        "results: \"numpy\", \"torch\", or \"dlpack\" for objects that have __dlpack__. By default, tensors of results are\n"
        "    torch's if an argument is a torch tensor, and else arrays of numpy.");
}
