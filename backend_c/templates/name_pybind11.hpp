// @{name}_pybind11.hpp - Python objects to and from the values of @{name}.hpp, for @{name}_pybind11.cpp. Made by scriptc.
#ifndef @{NAME}_PYBIND11_HPP
#define @{NAME}_PYBIND11_HPP
#include <pybind11/eval.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <mutex>
#include <new>
#include <pthread.h>
#include <string>
#include <thread>

#include "@{name}.hpp"

namespace @{name} {
namespace binding {
namespace py = pybind11;

// Python objects of the module. They are never freed, because threads may outlive the interpreter.
struct Objects {
    py::object helpers;      // the functions of the Python text in @{name}_pybind11.cpp, by name
    py::object opaque;       // stands for an argument that is part of the build and cannot be passed
    py::object torch_tensor; // torch.Tensor, if the program has imported torch
    py::object from_dlpack, is_grad_enabled; // of torch
    std::vector<py::object> constants, classes; // of the build, in the order of the generated code
    py::object dlpack_name, dlpack_keyword, dlpack_version;

    py::object helper(const char *of) const { return helpers[of]; }
};
inline Objects *objects;

// ---- signal handlers during calls of the main thread ----

// While a call of the main thread runs, a thread asks it every 100 ms to run the handlers of pending signals. The thread
// ends after two seconds without a call, and does not exist in a forked child.
class Signals {
public:
    // Return the context of the running call, which `context` replaces. NULL: no call runs.
    @{name}_context *enter(@{name}_context *context)
    {
        std::lock_guard lock(mutex_);
        calls_++;
        if (context && !running_) {
            try {
                std::thread([this] { watch(); }).detach();
                running_ = true;
            } catch (const std::system_error &) { // no thread can start: handlers run after the call
            }
        }
        return std::exchange(context_, context);
    }
    void leave(@{name}_context *outer)
    {
        std::lock_guard lock(mutex_);
        context_ = outer;
    }

private:
    void watch()
    {
        uint64_t seen = 0;
        for (int idle = 0;;) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            std::lock_guard lock(mutex_);
            if (context_) @{name}_request_check(context_);
            idle = context_ || calls_ != seen ? 0 : idle + 1;
            seen = calls_;
            if (idle == 20) {
                running_ = false;
                return;
            }
        }
    }
    std::mutex mutex_;
    @{name}_context *context_ = nullptr;
    uint64_t calls_ = 0;
    bool running_ = false;
};
inline Signals *signals;
inline unsigned long main_thread;

inline void prepare_signals()
{
    signals = new Signals;
    main_thread = py::module_::import("threading").attr("main_thread")().attr("ident").cast<unsigned long>();
    pthread_atfork(nullptr, nullptr, [] { // the thread that forks is the main thread of the child
        new (signals) Signals;
        main_thread = PyThread_get_thread_ident();
    });
}

// ---- contexts and states ----

// What compiled code prints and warns of. A callback holds the GIL; an exception in it is reported, as in a __del__.
inline void print(void *, const char *text)
{
    py::gil_scoped_acquire gil;
    try {
        objects->helper("write")(py::bytes(text));
    } catch (py::error_already_set &error) {
        error.discard_as_unraisable("print() of compiled code");
    }
}

inline void warn(void *, const char *category, const char *message, const char *file, int line)
{
    py::gil_scoped_acquire gil;
    try {
        objects->helper("warn")(py::bytes(category), py::bytes(message), py::bytes(file), line);
    } catch (py::error_already_set &error) {
        error.discard_as_unraisable("a warning of compiled code");
    }
}

// A context of one thread, and the exception that a signal handler raised during its call.
class Worker {
public:
    Worker(std::shared_ptr<const Model> of, int threads) : model(std::move(of)), context(*model)
    {
        const scriptc_output output = {print, warn, nullptr};
        @{name}_context_set_output(context.get(), &output);
        context.set_threads(threads);
        @{name}_context_set_check(context.get(), check, this);
    }
    std::shared_ptr<const Model> model;
    Context context;
    bool is_running = false;
    PyObject *raised = nullptr;

private:
    static const char *check(void *user)
    {
        auto *self = static_cast<Worker *>(user);
        py::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() == 0) return nullptr;
        PyObject *type, *value, *where;
        PyErr_Fetch(&type, &value, &where);
        PyErr_NormalizeException(&type, &value, &where);
        if (where) PyException_SetTraceback(value, where);
        self->type_ = reinterpret_cast<PyTypeObject *>(type)->tp_name;
        Py_XDECREF(std::exchange(self->raised, value));
        Py_XDECREF(type);
        Py_XDECREF(where);
        return self->type_.c_str();
    }
    std::string type_;
};

// Keeps the threads of Python apart that use one state.
class Lock {
public:
    class Held {
    public:
        explicit Held(Lock &lock) : lock_(lock)
        {
            if (lock_.owner_ == std::this_thread::get_id())
                throw std::runtime_error("the state is in use by a call that this one interrupts");
            py::gil_scoped_release release;
            lock_.mutex_.lock();
            lock_.owner_ = std::this_thread::get_id();
        }
        ~Held()
        {
            lock_.owner_ = std::thread::id();
            lock_.mutex_.unlock();
        }

    private:
        Lock &lock_;
    };

private:
    std::mutex mutex_;
    std::atomic<std::thread::id> owner_{};
};

// ---- results ----

// Python reads a result by the protocol of DLPack. The object owns the memory.
class Exported {
public:
    explicit Exported(Tensor tensor) : tensor_(std::make_shared<Tensor>(std::move(tensor))) {}
    const DLTensor &dlpack() const { return tensor_->dlpack(); }

    py::object capsule(const py::object &max_version) const
    {
        bool versioned = !max_version.is_none() && max_version.cast<py::tuple>()[0].cast<int>() >= 1;
        return versioned ? made<DLManagedTensorVersioned>("dltensor_versioned") : made<Legacy>("dltensor");
    }

private:
    struct Legacy { // DLManagedTensor of versions before 1.0
        DLTensor dl_tensor;
        void *manager_ctx;
        void (*deleter)(Legacy *self);
    };
    template <class Managed> py::object made(const char *called) const
    {
        auto *managed = new Managed{};
        if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) managed->version = {1, 0};
        managed->dl_tensor = dlpack();
        managed->manager_ctx = new std::shared_ptr<Tensor>(tensor_);
        managed->deleter = [](Managed *self) {
            delete static_cast<std::shared_ptr<Tensor> *>(self->manager_ctx);
            delete self;
        };
        return py::reinterpret_steal<py::object>(PyCapsule_New(managed, called, [](PyObject *capsule) {
            const char *now = PyCapsule_GetName(capsule); // who took the tensor has renamed the capsule
            if (now && std::strncmp(now, "used", 4) == 0) return;
            auto *kept = static_cast<Managed *>(PyCapsule_GetPointer(capsule, now));
            kept->deleter(kept);
        }));
    }
    std::shared_ptr<Tensor> tensor_;
};

enum class Results { as_arguments, numpy, torch, dlpack };

inline Results results_of(const py::object &wanted)
{
    if (wanted.is_none()) return Results::as_arguments;
    auto text = wanted.cast<std::string>();
    if (text == "numpy") return Results::numpy;
    if (text == "torch") return Results::torch;
    if (text == "dlpack") return Results::dlpack;
    throw py::value_error("results is " + text + ": choose \"numpy\", \"torch\", \"dlpack\" or None");
}

inline bool find_torch(bool import)
{
    if (objects->torch_tensor) return true;
    py::dict modules = py::module_::import("sys").attr("modules");
    if (!import && !modules.contains("torch")) return false;
    py::object torch = py::module_::import("torch");
    if (!py::hasattr(torch, "Tensor") || !py::hasattr(torch, "from_dlpack")) return false; // it is being imported
    objects->from_dlpack = torch.attr("from_dlpack");
    objects->is_grad_enabled = torch.attr("is_grad_enabled");
    objects->torch_tensor = torch.attr("Tensor");
    return true;
}

// ---- arguments ----

// The name of an argument in messages: "xs" or "xs[2]".
struct Name {
    const char *text;
    py::ssize_t index = -1;
    std::string quoted() const
    {
        return "argument '" + std::string(text) + (index < 0 ? "" : "[" + std::to_string(index) + "]") + "'";
    }
};

[[noreturn]] inline void refuse(const Name &name, const std::string &expected, py::handle got)
{
    throw py::type_error(name.quoted() + ": expected " + expected + ", got " + Py_TYPE(got.ptr())->tp_name);
}

// The arguments of a call, and the objects that live as long as the call.
class Arguments {
public:
    bool is_read_only = false, has_torch = false;
    bool has_run = false; // the arguments fit, and the call has begun

    Arguments() = default;
    Arguments(const Arguments &) = delete;
    ~Arguments() // autograd must see that tensors it has saved were written
    {
        py::error_scope error;
        for (const py::object &tensor : written_) {
            try {
                if (!tensor.attr("is_inference")().cast<bool>())
                    py::module_::import("torch.autograd.graph").attr("increment_version")(tensor);
            } catch (py::error_already_set &failed) {
                failed.discard_as_unraisable("writing to a tensor");
            }
        }
    }

    const DLTensor *tensor(py::handle value, Name name, bool is_written = false)
    {
        py::object source = py::reinterpret_borrow<py::object>(value);
        if (find_torch(false) && py::isinstance(value, objects->torch_tensor)) {
            has_torch = true;
            source = without_gradient(source, name);
            if (is_written) written_.push_back(source);
        }
        py::object capsule = exported(source, name);
        const char *called = PyCapsule_GetName(capsule.ptr());
        const DLTensor *found = nullptr;
        if (called && std::strcmp(called, "dltensor_versioned") == 0) {
            auto *managed = static_cast<DLManagedTensorVersioned *>(PyCapsule_GetPointer(capsule.ptr(), called));
            if (managed->version.major != 1) throw py::buffer_error(name.quoted() + ": another major version of DLPack");
            is_read_only |= (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
            found = &managed->dl_tensor;
        } else if (called && std::strcmp(called, "dltensor") == 0) {
            found = static_cast<DLTensor *>(PyCapsule_GetPointer(capsule.ptr(), called)); // its first member
        } else {
            refuse(name, "a capsule of DLPack from __dlpack__", capsule);
        }
        kept_.push_back(std::move(capsule)); // which frees its tensor, since nobody renames it
        return bfloat16_ ? as_bfloat16(*found) : found;
    }
    std::vector<const DLTensor *> tensors(py::handle value, const char *name, bool is_written = false)
    {
        return list<const DLTensor *>(value, name,
                                      [=](py::handle item, Name at) { return tensor(item, at, is_written); });
    }

    int64_t i64(py::handle value, Name name)
    {
        if (!PyLong_CheckExact(value.ptr())) refuse(name, "int", value);
        int overflow;
        long long found = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
        if (overflow) {
            PyErr_SetString(PyExc_OverflowError, (name.quoted() + ": the int does not fit 64 bits").c_str());
            throw py::error_already_set();
        }
        return found;
    }
    double f64(py::handle value, Name name)
    {
        if (!PyFloat_CheckExact(value.ptr())) refuse(name, "float", value);
        return PyFloat_AS_DOUBLE(value.ptr());
    }
    bool boolean(py::handle value, Name name)
    {
        if (!PyBool_Check(value.ptr())) refuse(name, "bool", value);
        return value.ptr() == Py_True;
    }
    std::string str(py::handle value, Name name)
    {
        if (!PyUnicode_CheckExact(value.ptr())) refuse(name, "str", value);
        auto bytes = py::reinterpret_steal<py::bytes>(PyUnicode_AsEncodedString(value.ptr(), "utf-8", "surrogatepass"));
        if (!bytes) throw py::error_already_set();
        return bytes;
    }
    std::vector<int64_t> i64s(py::handle value, const char *name)
    {
        return list<int64_t>(value, name, [this](py::handle item, Name at) { return i64(item, at); });
    }
    std::vector<double> f64s(py::handle value, const char *name)
    {
        return list<double>(value, name, [this](py::handle item, Name at) { return f64(item, at); });
    }
    std::vector<bool> booleans(py::handle value, const char *name)
    {
        return list<bool>(value, name, [this](py::handle item, Name at) { return boolean(item, at); });
    }
    std::vector<std::string> strs(py::handle value, const char *name)
    {
        return list<std::string>(value, name, [this](py::handle item, Name at) { return str(item, at); });
    }
    std::vector<std::vector<const DLTensor *>> tensor_rows(py::handle value, const char *name, bool is_written = false)
    {
        return rows<const DLTensor *>(value, name, [&](py::handle row, const char *at) { return tensors(row, at, is_written); });
    }
    std::vector<std::vector<int64_t>> i64_rows(py::handle value, const char *name)
    {
        return rows<int64_t>(value, name, [&](py::handle row, const char *at) { return i64s(row, at); });
    }
    std::vector<std::vector<double>> f64_rows(py::handle value, const char *name)
    {
        return rows<double>(value, name, [&](py::handle row, const char *at) { return f64s(row, at); });
    }
    std::vector<std::vector<bool>> boolean_rows(py::handle value, const char *name)
    {
        return rows<bool>(value, name, [&](py::handle row, const char *at) { return booleans(row, at); });
    }
    std::vector<std::vector<std::string>> str_rows(py::handle value, const char *name)
    {
        return rows<std::string>(value, name, [&](py::handle row, const char *at) { return strs(row, at); });
    }
    void empty(py::handle value, const char *name)
    {
        if (!PyList_CheckExact(value.ptr())) refuse({name}, "a list", value);
        if (PyList_GET_SIZE(value.ptr())) throw py::type_error(Name{name}.quoted() + ": compiled for an empty list");
    }
    std::array<double, 2> complex(py::handle value, const char *name)
    {
        if (!PyComplex_CheckExact(value.ptr())) refuse({name}, "complex", value);
        return {PyComplex_RealAsDouble(value.ptr()), PyComplex_ImagAsDouble(value.ptr())};
    }
    py::tuple tuple(py::handle value, const char *name, size_t n)
    {
        if (!PyTuple_Check(value.ptr()) || PyTuple_GET_SIZE(value.ptr()) != static_cast<py::ssize_t>(n))
            throw py::type_error(Name{name}.quoted() + ": expected a tuple of " + std::to_string(n));
        return py::reinterpret_borrow<py::tuple>(value);
    }
    // Return the values of a dict, which has these keys in this order.
    std::vector<py::object> dict(py::handle value, const char *name, std::initializer_list<py::object> keys)
    {
        std::vector<py::object> values;
        bool fits = PyDict_Check(value.ptr()) && PyDict_Size(value.ptr()) == static_cast<py::ssize_t>(keys.size());
        auto key = keys.begin();
        if (fits)
            for (auto item : py::reinterpret_borrow<py::dict>(value)) {
                fits = fits && item.first.equal(*key++);
                values.push_back(py::reinterpret_borrow<py::object>(item.second));
            }
        if (fits) return values;
        py::list wanted;
        for (const py::object &each : keys) wanted.append(each);
        throw py::type_error(Name{name}.quoted() + ": expected a dict with the keys " + py::repr(wanted).cast<std::string>() +
                             ", in this order");
    }
    // Return the items of a list of known length.
    std::vector<py::object> items(py::handle value, const char *name, size_t n)
    {
        if (!PyList_CheckExact(value.ptr()) || PyList_GET_SIZE(value.ptr()) != static_cast<py::ssize_t>(n))
            throw py::type_error(Name{name}.quoted() + ": expected a list of " + std::to_string(n));
        std::vector<py::object> out;
        for (py::handle item : py::reinterpret_borrow<py::list>(value)) out.push_back(py::reinterpret_borrow<py::object>(item));
        return out;
    }
    py::object attribute(py::handle value, const char *name, const char *of)
    {
        if (!py::hasattr(value, of)) refuse({name}, std::string("an object with the attribute '") + of + "'", value);
        return value.attr(of);
    }
    void known(py::handle value, const char *name, const py::object &constant)
    {
        if (value.is(constant)) return;
        bool equal = !value.is(objects->opaque) && Py_TYPE(value.ptr()) == Py_TYPE(constant.ptr());
        if (equal && py::repr(value).equal(py::repr(constant))) return;
        throw py::type_error(Name{name}.quoted() + ": compiled for " + py::repr(constant).cast<std::string>() + ", got " +
                             py::repr(value).cast<std::string>());
    }
    void opaque(py::handle value, const char *name, const char *what)
    {
        if (!value.is(objects->opaque))
            throw py::type_error(Name{name}.quoted() + ": " + what + " is part of the build; leave it out");
    }

private:
    template <class T, class Row> std::vector<std::vector<T>> rows(py::handle value, const char *name, Row row)
    {
        if (!PyList_CheckExact(value.ptr())) refuse({name}, "a list", value);
        std::vector<std::vector<T>> out;
        for (py::ssize_t i = 0; i < PyList_GET_SIZE(value.ptr()); i++) {
            auto held = py::reinterpret_borrow<py::object>(PyList_GET_ITEM(value.ptr(), i));
            std::string at = std::string(name) + "[" + std::to_string(i) + "]";
            out.push_back(row(held, at.c_str()));
        }
        return out;
    }
    template <class T, class Item> std::vector<T> list(py::handle value, const char *name, Item item)
    {
        if (!PyList_CheckExact(value.ptr())) refuse({name}, "a list", value);
        std::vector<T> out;
        for (py::ssize_t i = 0; i < PyList_GET_SIZE(value.ptr()); i++) {
            auto held = py::reinterpret_borrow<py::object>(PyList_GET_ITEM(value.ptr(), i));
            out.push_back(item(held, {name, i}));
        }
        return out;
    }

    // A package computes no gradients, so it refuses a tensor for which eager would record the call.
    py::object without_gradient(const py::object &value, const Name &name)
    {
        if (!value.attr("requires_grad").cast<bool>()) return value;
        if (objects->is_grad_enabled().cast<bool>())
            throw py::type_error(name.quoted() +
                                 " requires a gradient, and a package computes none: pass x.detach(), or call in torch.no_grad()");
        return value.attr("detach")();
    }

    py::object exported(const py::object &value, const Name &name)
    {
        bfloat16_ = false;
        PyObject *method = PyObject_GetAttr(value.ptr(), objects->dlpack_name.ptr());
        if (!method) {
            PyErr_Clear();
            refuse(name, "an array or tensor that has __dlpack__", value);
        }
        auto held = py::reinterpret_steal<py::object>(method);
        PyObject *version = objects->dlpack_version.ptr();
        PyObject *found = PyObject_Vectorcall(method, &version, 0, objects->dlpack_keyword.ptr());
        if (!found && PyErr_ExceptionMatches(PyExc_TypeError)) { // it knows no versions
            PyErr_Clear();
            found = PyObject_CallNoArgs(method);
        }
        if (!found && PyErr_ExceptionMatches(PyExc_BufferError) && is_bfloat16(value)) {
            PyErr_Clear();
            bfloat16_ = true; // numpy exports no elements of ml_dtypes
            py::object plain = value.attr("view")("uint16");
            auto its = plain.attr("__dlpack__");
            found = PyObject_Vectorcall(its.ptr(), &version, 0, objects->dlpack_keyword.ptr());
        }
        if (found) return py::reinterpret_steal<py::object>(found);
        py::error_already_set error;
        std::string why = py::str(error.value());
        py::raise_from(error, PyExc_TypeError, (name.quoted() + ": " + why).c_str());
        throw py::error_already_set();
    }
    static bool is_bfloat16(const py::object &value)
    {
        py::error_scope error;
        return py::isinstance<py::array>(value) && py::str(value.attr("dtype")).equal(py::str("bfloat16"));
    }
    const DLTensor *as_bfloat16(const DLTensor &from)
    {
        views_.push_back(from);
        views_.back().dtype.code = kDLBfloat;
        return &views_.back();
    }

    bool bfloat16_ = false;
    std::vector<py::object> kept_, written_;
    std::deque<DLTensor> views_;
};
} // namespace binding
} // namespace @{name}
#endif
