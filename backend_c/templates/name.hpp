// @{name}.hpp - @{name}.h for C++17: objects that own their memory, and exceptions instead of codes. Made by scriptc.
#ifndef @{NAME}_HPP
#define @{NAME}_HPP
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "@{name}.h"

namespace @{name} {

// An exception of compiled code, or an argument that does not fit it. type() is the name of Python's exception.
class Error : public std::runtime_error {
public:
    explicit Error(const scriptc_error &e, int code = SCRIPTC_RAISED)
        : std::runtime_error(std::string(e.type) + ": " + e.message + (*e.traceback ? "\n" : "") + e.traceback),
          type_(e.type), file_(e.file ? e.file : ""), line_(e.line), code_(code)
    {
    }
    const std::string &type() const { return type_; }
    const std::string &file() const { return file_; }
    int line() const { return line_; }
    int code() const { return code_; } // SCRIPTC_RAISED, SCRIPTC_BAD_ARGUMENT or SCRIPTC_CANCELLED

private:
    std::string type_, file_;
    int line_, code_;
};

template <class T> constexpr DLDataType dtype_of()
{
    constexpr uint8_t code = std::is_same_v<T, bool>            ? kDLBool
                             : std::is_floating_point_v<T>      ? kDLFloat
                             : std::is_signed_v<T>              ? kDLInt
                                                                : kDLUInt;
    return {code, static_cast<uint8_t>(8 * sizeof(T)), 1};
}

// A contiguous tensor over the caller's memory, to pass as an argument.
class View {
public:
    template <class T> View(T *data, std::vector<int64_t> shape) : View(data, dtype_of<std::remove_const_t<T>>(), std::move(shape)) {}
    View(const void *data, DLDataType dtype, std::vector<int64_t> shape) : shape_(std::move(shape))
    {
        tensor_.data = const_cast<void *>(data);
        tensor_.device = {kDLCPU, 0};
        tensor_.ndim = static_cast<int32_t>(shape_.size());
        tensor_.dtype = dtype;
        tensor_.shape = shape_.data();
        tensor_.strides = nullptr;
        tensor_.byte_offset = 0;
    }
    View(const View &) = delete;
    View &operator=(const View &) = delete;
    operator const DLTensor &() const { return tensor_; }
    const DLTensor *operator&() const { return &tensor_; }

private:
    std::vector<int64_t> shape_;
    DLTensor tensor_;
};

// A tensor that a call returned.
class Tensor {
public:
    explicit Tensor(DLManagedTensorVersioned *managed) : managed_(managed) {}
    operator const DLTensor &() const { return managed_->dl_tensor; }
    const DLTensor &dlpack() const { return managed_->dl_tensor; }
    DLManagedTensorVersioned *release() { return managed_.release(); }

    std::vector<int64_t> shape() const { return {dlpack().shape, dlpack().shape + dlpack().ndim}; }
    int64_t numel() const
    {
        int64_t n = 1;
        for (int d = 0; d < dlpack().ndim; d++) n *= dlpack().shape[d];
        return n;
    }
    template <class T> T *data() const // the first element; others are at strides
    {
        constexpr DLDataType wanted = dtype_of<T>();
        if (dlpack().dtype.code != wanted.code || dlpack().dtype.bits != wanted.bits)
            throw std::invalid_argument("the tensor has another dtype");
        return reinterpret_cast<T *>(static_cast<char *>(dlpack().data) + dlpack().byte_offset);
    }
    template <class T> std::vector<T> values() const // a copy in row-major order
    {
        std::vector<T> out(static_cast<size_t>(numel()));
        const T *from = data<T>();
        for (size_t i = 0; i < out.size(); i++) {
            int64_t rest = static_cast<int64_t>(i), at = 0;
            for (int d = dlpack().ndim; d-- > 0; rest /= dlpack().shape[d]) at += rest % dlpack().shape[d] * dlpack().strides[d];
            out[i] = from[at];
        }
        return out;
    }

private:
    struct Delete {
        void operator()(DLManagedTensorVersioned *m) const { m->deleter(m); }
    };
    std::unique_ptr<DLManagedTensorVersioned, Delete> managed_;
};

namespace detail {
inline std::vector<Tensor> take_tensors(DLManagedTensorVersioned **tensors, int64_t n)
{
    std::vector<Tensor> out;
    out.reserve(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; i++) out.emplace_back(std::exchange(tensors[i], nullptr));
    @{name}_free_tensors(tensors, n);
    return out;
}

template <class T> std::vector<T> take_numbers(T *numbers, int64_t n)
{
    std::vector<T> out(numbers, numbers + n);
    @{name}_free_array(numbers);
    return out;
}

inline scriptc_string plain(std::string_view from) { return {from.data(), static_cast<int64_t>(from.size())}; }

inline std::unique_ptr<scriptc_string[]> plain(const std::vector<std::string> &from)
{
    auto out = std::make_unique<scriptc_string[]>(from.size() + 1);
    for (size_t i = 0; i < from.size(); i++) out[i] = plain(std::string_view(from[i]));
    return out;
}

inline std::string take_string(scriptc_string from)
{
    std::string out(from.data, static_cast<size_t>(from.n));
    @{name}_free_array(const_cast<char *>(from.data));
    return out;
}

inline std::vector<std::string> take_strings(scriptc_string *strings, int64_t n)
{
    std::vector<std::string> out;
    for (int64_t i = 0; i < n; i++) out.emplace_back(strings[i].data, static_cast<size_t>(strings[i].n));
    @{name}_free_array(strings);
    return out;
}

inline std::unique_ptr<bool[]> plain(const std::vector<bool> &from)
{
    auto out = std::make_unique<bool[]>(from.size() + 1);
    for (size_t i = 0; i < from.size(); i++) out[i] = from[i];
    return out;
}

// Lists of lists: C has the items of all rows, one after the other, and the lengths of the rows.
template <class T> std::vector<T> joined(const std::vector<std::vector<T>> &rows)
{
    std::vector<T> out;
    for (const auto &row : rows) out.insert(out.end(), row.begin(), row.end());
    return out;
}

template <class T> std::vector<int64_t> lengths(const std::vector<std::vector<T>> &rows)
{
    std::vector<int64_t> out;
    for (const auto &row : rows) out.push_back(static_cast<int64_t>(row.size()));
    return out;
}

inline int64_t total(const int64_t *lengths, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += lengths[i];
    return sum;
}

template <class T> std::vector<std::vector<T>> split(std::vector<T> &&items, int64_t *lengths, int64_t n)
{
    std::vector<std::vector<T>> out(static_cast<size_t>(n));
    size_t at = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < lengths[i]; k++) out[static_cast<size_t>(i)].push_back(std::move(items[at++]));
    @{name}_free_array(lengths);
    return out;
}
} // namespace detail

// Weights and code; threads may share it.
class Model {
public:
    explicit Model(const char *weights_path = nullptr)
    {
        char why[512];
        model_.reset(@{name}_load(weights_path, why, sizeof why));
        if (!model_) throw std::runtime_error(why);
    }
    explicit Model(const std::string &weights_path) : Model(weights_path.c_str()) {}
    const @{name}_model *get() const { return model_.get(); }
    std::string level() const { return @{name}_level(model_.get()); }

private:
    struct Free {
        void operator()(@{name}_model *m) const { @{name}_free(m); }
    };
    std::unique_ptr<@{name}_model, Free> model_;
};

@{state}@{results}// Calls the entries; one for each thread. The model must outlive it.
class Context {
public:
    explicit Context(const Model &model) : context_(@{name}_context_new(model.get()))
    {
        if (!context_) throw std::bad_alloc();
    }
    @{name}_context *get() const { return context_.get(); }
    void seed(uint64_t seed) { @{name}_context_seed(context_.get(), seed); } // as torch.manual_seed
    void set_threads(int n) { @{name}_context_set_threads(context_.get(), n); } // at most n; default: 1
    void cancel() { @{name}_cancel(context_.get()); } // ends the running call; any thread may call it
    void set_stack(size_t bytes) { @{name}_context_set_stack(context_.get(), bytes); } // of recursion; 0: the free stack

@{entries}
private:
    struct Free {
        void operator()(@{name}_context *c) const { @{name}_context_free(c); }
    };
    void check(int code) const
    {
        if (code != SCRIPTC_OK) throw Error(*@{name}_last_error(context_.get()), code);
    }
    std::unique_ptr<@{name}_context, Free> context_;
};

} // namespace @{name}
#endif
