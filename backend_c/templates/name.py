"""@{name}: compiled code called from Python on numpy arrays, without torch. Made by scriptc.

    import @{name}
    model = @{name}.load()
    result = model.@{first}(...)

Arguments are bound as the original function binds them; arrays written by the code are written in place.
"""

import collections
import contextlib
import ctypes as c
import functools
import hashlib
import inspect
import itertools
import os
import sys
import threading
import types
from pathlib import Path

import numpy as np

NAME = "@{name}"
FOLDER = Path(__file__).resolve().parent.parent


def _part(name, is_shared=False):
    """Return another file of the loader as a module: that of this folder, whatever sys.path and sys.modules have.

    is_shared: one module serves all packages of the process whose files have the same text.
    """
    path = FOLDER / "python" / f"{NAME}_{name}.py"
    text = path.read_bytes()
    key = f"_scriptc_{name}_{hashlib.sha256(text).hexdigest()}"
    if is_shared and key in sys.modules:
        return sys.modules[key]
    module = types.ModuleType(f"{NAME}_{name}")
    module.__file__ = str(path)
    exec(compile(text, path, "exec"), vars(module))
    return sys.modules.setdefault(key, module) if is_shared else module


library, signals = _part("library"), _part("signals", is_shared=True).signals
messages = _part("messages", is_shared=True)
structs = _part("structs", is_shared=True)
DLTensor, Managed, Text, NUMBERS = structs.DLTensor, structs.Managed, structs.Text, structs.NUMBERS
DTYPES = {
    "bool": np.bool_,
    "u8": np.uint8,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
}
CODES = {"bool": 6, "u8": 1, "i8": 0, "i16": 0, "i32": 0, "i64": 0, "f16": 2, "bf16": 4, "f32": 2, "f64": 2}
CODES |= {"c64": 5, "c128": 5}
BITS = {"bool": 8, "u8": 8, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}
BITS |= {"c64": 64, "c128": 128}
FROM_DLPACK = {(CODES[name], BITS[name]): name for name in CODES}
OPAQUE = object()  # stands for a default or value that is no constant


# ---- the C side ----


@structs.Print
def _print(user, text):
    messages.write(text)


@structs.Warn
def _warn(user, category, message, file, line):
    messages.warn(category, message, file, line)


_OUTPUT = structs.Output(_print, _warn, None)


def _library(manifest):
    lib = library.open_library(manifest)
    for function in ("load", "context_new", "last_error", "level", "state_new"):
        if hasattr(lib, f"{NAME}_{function}"):
            getattr(lib, f"{NAME}_{function}").restype = c.c_void_p
    for function in ("state_reset", "state_copy", "state_save", "state_load"):
        if hasattr(lib, f"{NAME}_{function}"):
            getattr(lib, f"{NAME}_{function}").restype = c.c_bool
    getattr(lib, f"{NAME}_level").restype = c.c_char_p
    getattr(lib, f"{NAME}_last_error").restype = c.POINTER(structs.Error)
    return lib


# ---- arguments ----


class Arguments:
    """The arguments of one call, and the objects that must live as long."""

    def __init__(self):
        self.values = []
        self.kept = []
        self.read_only = False

    def add(self, value, spec, name):
        kind = spec["is"]
        if kind == "known":
            if value is OPAQUE or type(value) is not type(spec["value"]) or repr(value) != repr(spec["value"]):
                raise TypeError(f"argument '{name}': compiled for {spec['value']!r}, got {value!r}")
        elif kind == "opaque":
            if value is not OPAQUE:
                raise TypeError(f"argument '{name}': {spec['text']} is part of the build; leave it out")
        elif kind == "tensor":
            self.values.append(c.byref(self.tensor(value, spec, name)))
        elif kind == "number":
            self.values.append(self.number(value, spec, name))
        elif kind == "list":
            self.list(value, spec["of"], name)
        elif kind == "tuple" and spec["class"] == "complex":
            if type(value) is not complex:
                raise TypeError(f"argument '{name}': expected complex, got {type(value).__name__}")
            for item, of in zip((value.real, value.imag), spec["items"], strict=True):
                self.add(item, of, name)
        elif kind == "object":
            for field, of in zip(spec["fields"], spec["items"], strict=True):
                if not hasattr(value, field):
                    what = f"expected an object with the attribute '{field}', got {type(value).__name__}"
                    raise TypeError(f"argument '{name}': {what}")
                self.add(getattr(value, field), of, f"{name}.{field}")
        elif kind == "tuple":
            fits = type(value) is list if spec["class"] == "list" else isinstance(value, tuple)
            if not fits or len(value) != len(spec["items"]):
                what = "list" if spec["class"] == "list" else "tuple"
                raise TypeError(f"argument '{name}': expected a {what} of {len(spec['items'])}")
            for i, (item, of) in enumerate(zip(value, spec["items"], strict=True)):
                self.add(item, of, f"{name}[{i}]")
        else:
            if not isinstance(value, dict) or list(value) != spec["keys"]:
                raise TypeError(f"argument '{name}': expected a dict with the keys {spec['keys']}, in this order")
            for key, of in zip(spec["keys"], spec["items"], strict=True):
                self.add(value[key], of, f"{name}[{key!r}]")

    def list(self, value, of, name):
        if type(value) is not list:
            raise TypeError(f"argument '{name}': expected a list, got {type(value).__name__}")
        if of is None:
            if value:
                raise TypeError(f"argument '{name}': compiled for an empty list")
            return
        if of["is"] == "list":
            self._rows(value, of["of"], name)
            return
        self._items(value, of, [f"{name}[{i}]" for i in range(len(value))])
        self.values.append(c.c_int64(len(value)))

    def _rows(self, rows, of, name):
        """Pass a list of lists: the items of all rows, the lengths of the rows, and their number."""
        for i, row in enumerate(rows):
            if type(row) is not list:
                raise TypeError(f"argument '{name}[{i}]': expected a list, got {type(row).__name__}")
        names = [f"{name}[{i}][{k}]" for i, row in enumerate(rows) for k in range(len(row))]
        self._items([item for row in rows for item in row], of, names)
        lengths = (c.c_int64 * len(rows))(*map(len, rows))
        self.kept.append(lengths)
        self.values += [lengths, c.c_int64(len(rows))]

    def _items(self, values, of, names):
        """Pass the array of some items."""
        if of["is"] == "tensor":
            tensors = [self.tensor(item, of, name) for item, name in zip(values, names, strict=True)]
            items = (c.POINTER(DLTensor) * len(tensors))(*map(c.pointer, tensors))
        else:
            numbers = [self.number(item, of, name) for item, name in zip(values, names, strict=True)]
            items = (NUMBERS[of["type"]][1] * len(numbers))(*numbers)
        self.kept.append(items)
        self.values.append(items)

    def number(self, value, spec, name):
        """Pass a number or a string."""
        checked, kind = _number(value, spec, name), NUMBERS[spec["type"]][1]
        if kind is not Text:
            return kind(checked)
        encoded = checked.encode(errors="surrogatepass")
        self.kept.append(encoded)
        return Text(c.cast(c.c_char_p(encoded), c.c_void_p), len(encoded))

    def tensor(self, value, spec, name):
        if not isinstance(value, np.ndarray):
            raise TypeError(f"argument '{name}': expected a numpy array, got {type(value).__name__}")
        if value.dtype != _numpy_dtype(spec["dtype"]):
            raise TypeError(f"argument '{name}': expected dtype {_numpy_dtype(spec['dtype'])}, got {value.dtype}")
        if value.ndim != len(spec["sizes"]):
            raise TypeError(f"argument '{name}': expected {len(spec['sizes'])} dimensions, got {value.ndim}")
        for d, (size, wanted) in enumerate(zip(value.shape, spec["sizes"], strict=True)):
            if wanted is not None and size != wanted:
                raise ValueError(f"argument '{name}': compiled for size {wanted} in dimension {d}, got {size}")
        if any(stride % value.itemsize for stride in value.strides):
            raise ValueError(f"argument '{name}': strides that are no multiple of the element's size")
        n = value.ndim
        shape, strides = (c.c_int64 * n)(*value.shape), (c.c_int64 * n)(*(s // value.itemsize for s in value.strides))
        dtype = spec["dtype"]
        self.kept += [value, shape, strides]
        self.read_only |= not value.flags.writeable
        return DLTensor(value.ctypes.data, (c.c_int32 * 2)(1, 0), n, CODES[dtype], BITS[dtype], 1, shape, strides, 0)


def _number(value, spec, name):
    wanted = NUMBERS[spec["type"]][0]
    if type(value) is not wanted:
        raise TypeError(f"argument '{name}': expected {wanted.__name__}, got {type(value).__name__}")
    if wanted is int and not -(2**63) <= value < 2**63:
        raise OverflowError(f"argument '{name}': the int does not fit 64 bits")
    return value


@functools.cache
def _numpy_dtype(name):
    if name in DTYPES:
        return np.dtype(DTYPES[name])
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError("numpy has no bfloat16: install ml_dtypes to pass and get such tensors") from None
    return np.dtype(ml_dtypes.bfloat16)


# ---- results ----


class _Owner:
    """Keeps a result tensor alive while an array reads it."""

    def __init__(self, managed, loaded):
        self.managed, self.loaded = managed, loaded
        loaded.hold()
        t = managed.contents.tensor
        size = t.bits // 8
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{size}" if size != 1 else "|u1",
            "data": ((t.data or 0) + t.byte_offset, False),
            "shape": tuple(t.shape[: t.ndim]),
            "strides": tuple(s * size for s in t.strides[: t.ndim]),
        }

    def __del__(self):
        self.managed.contents.deleter(self.managed)  # calls code of the library, so it must be loaded
        self.loaded.release()


class Results:
    """Room for the results of one call, in the order of the tree."""

    def __init__(self, spec):
        self.places = []
        self._reserve(spec)
        self.rest = iter(self.places)

    @property
    def passed(self):
        return [c.byref(place) for place in self.places]

    def _reserve(self, spec):
        if spec["is"] == "tensor":
            self.places.append(c.POINTER(Managed)())
        elif spec["is"] == "number":
            self.places.append(NUMBERS[spec["type"]][1]())
        elif spec["is"] == "list" and spec["of"] is not None:
            is_nested = spec["of"]["is"] == "list"
            of = spec["of"]["of"] if is_nested else spec["of"]
            item = c.POINTER(Managed) if of["is"] == "tensor" else NUMBERS[of["type"]][1]
            self.places += [c.POINTER(item)(), *([c.POINTER(c.c_int64)()] if is_nested else []), c.c_int64()]
        for item in spec.get("items", ()):
            self._reserve(item)

    def take(self, spec, loaded):
        kind = spec["is"]
        if kind == "known":
            return spec["value"]
        if kind == "tensor":
            return _array(next(self.rest), loaded)
        if kind == "number":
            return _value(next(self.rest), loaded)
        if kind == "list":
            return self._list(spec["of"], loaded)
        items = [self.take(item, loaded) for item in spec["items"]]
        if kind == "dict":
            return dict(zip(spec["keys"], items, strict=True))
        if spec["class"] == "complex":
            return complex(*items)
        if spec["fields"]:
            return collections.namedtuple(spec["class"], spec["fields"])(*items)
        return items if spec["class"] == "list" else tuple(items)

    def _list(self, of, loaded):
        if of is None:
            return []
        items = next(self.rest)
        if of["is"] != "list":
            return self._values(items, of, next(self.rest).value, loaded)
        rows, n = next(self.rest), next(self.rest).value
        lengths = rows[:n]
        loaded.c("free_array")(rows)
        rest = iter(self._values(items, of["of"], sum(lengths), loaded))
        return [list(itertools.islice(rest, length)) for length in lengths]

    def _values(self, items, of, n, loaded):
        """Return the values of an array, which is freed."""
        if of["is"] == "number":
            values = [str(item) if isinstance(item, Text) else item for item in items[:n]]
            loaded.c("free_array")(items)
            return values
        arrays = [_array(c.pointer(items[i].contents), loaded) for i in range(n)]
        loaded.c("free_array")(items)  # the tensors have owners now
        return arrays


def _value(place, loaded):
    """Return a number, or a string, whose block is freed."""
    if not isinstance(place, Text):
        return place.value
    text = str(place)
    loaded.c("free_array")(c.c_void_p(place.data))
    return text


def _array(managed, loaded):
    t = managed.contents.tensor
    return np.asarray(_Owner(managed, loaded)).view(_numpy_dtype(FROM_DLPACK[t.code, t.bits]))


# ---- models ----


class _Loaded:
    """The library and a model of it.

    Objects made from the model hold it: where objects refer to one another in a circle, any of them may end first.
    """

    def __init__(self, library, weights):
        self.library, self.held = library, []
        why = c.create_string_buffer(512)
        self.handle = c.c_void_p(self.c("load")(os.fsencode(weights), why, c.c_size_t(len(why))))
        if not self.handle:
            raise RuntimeError(why.value.decode(errors="replace"))

    def c(self, name):
        return getattr(self.library, f"{NAME}_{name}")

    def hold(self):
        self.held.append(None)

    def release(self):
        try:
            self.held.pop()
        except IndexError:  # neither contexts nor results are left
            self.c("free")(self.handle)
            library.close(self.library)

    __del__ = release


class _Context:
    def __init__(self, loaded):
        self.loaded = loaded
        loaded.hold()
        self.handle = c.c_void_p(loaded.c("context_new")(loaded.handle))
        if not self.handle:
            raise MemoryError
        loaded.c("context_set_output")(self.handle, c.byref(_OUTPUT))
        loaded.c("context_set_threads")(self.handle, c.c_int(loaded.threads))
        self.check = None  # the default in C
        self.is_running = False

    def __del__(self):
        self.loaded.c("context_free")(self.handle)
        self.loaded.release()


class State:
    """The state that a model keeps from call to call. A model has one, which another may replace."""

    def __init__(self, loaded):
        self._loaded, self._lock, self._thread = loaded, threading.Lock(), None
        loaded.hold()
        self._handle = c.c_void_p(loaded.c("state_new")(loaded.handle))
        if not self._handle:
            raise MemoryError

    @contextlib.contextmanager
    def held(self):
        """Keep other threads from using the state within the block."""
        if self._thread == threading.get_ident():
            raise RuntimeError("the state is in use by a call that this one interrupts")
        with self._lock:
            self._thread = threading.get_ident()
            try:
                yield
            finally:
                self._thread = None

    def reset(self):
        """Set the state to its value at build time."""
        with self.held():
            if not self._loaded.c("state_reset")(self._handle):
                raise MemoryError

    def copy(self):
        made = State(self._loaded)
        with self.held():
            if not self._loaded.c("state_copy")(made._handle, self._handle):
                raise MemoryError
        return made

    __copy__ = copy

    def save(self, path):
        """Save the state to a safetensors file, which replaces an earlier one when it is complete."""
        self._file("state_save", path)

    def load(self, path):
        """Load a saved state. RuntimeError leaves the state unchanged."""
        self._file("state_load", path)

    def _file(self, function, path):
        why = c.create_string_buffer(512)
        with self.held():
            if not self._loaded.c(function)(self._handle, os.fsencode(path), why, c.c_size_t(len(why))):
                raise RuntimeError(why.value.decode(errors="replace"))

    def __del__(self):
        if self._handle:
            self._loaded.c("state_free")(self._handle)
        self._loaded.release()


class _Shared:
    """The library, the state and a context for each thread, which all entries of a model share."""

    def __init__(self, loaded, stateful, exceptions):
        self.loaded, self.contexts, self.exceptions = loaded, threading.local(), exceptions
        self.state = State(loaded) if stateful else None

    def context(self):
        """Return the context of this thread, or a new one within a call, such as for a signal handler."""
        if not hasattr(self.contexts, "mine"):
            self.contexts.mine = _Context(self.loaded)
        mine = self.contexts.mine
        return _Context(self.loaded) if mine.is_running else mine


class _Signature:
    """A function in C, and the types of its arguments and results."""

    def __init__(self, row, loaded):
        self.name = row["name"]
        self.function = loaded.c(row["name"])
        self.specs = [p["spec"] for p in row["parameters"]]
        self.result = row["result"]

    def take(self, bound):
        """Return the arguments for C, or raise where they do not fit."""
        arguments = Arguments()
        for (name, value), spec in zip(bound.arguments.items(), self.specs, strict=True):
            arguments.add(value, spec, name)
        return arguments


class Entry:
    """One compiled function, with one or more signatures."""

    def __init__(self, shared, rows):
        self._shared, self._loaded = shared, shared.loaded
        self.__name__ = rows[0]["group"]
        self._signatures = [_Signature(row, self._loaded) for row in rows]
        self.__signature__ = inspect.Signature([_parameter(p) for p in rows[0]["parameters"]])

    def __call__(self, *args, **kwargs):
        bound = self.__signature__.bind(*args, **kwargs)
        bound.apply_defaults()
        chosen, arguments = self._choose(bound)
        context = self._shared.context()
        results = Results(chosen.result)
        self._loaded.c("context_set_read_only")(context.handle, c.c_bool(arguments.read_only))
        if self._run(context, chosen.function, arguments.values, results.passed):
            error = self._loaded.c("last_error")(context.handle).contents
            raise messages.exception(error.type, error.message, error.traceback, self._shared.exceptions)
        return results.take(chosen.result, self._loaded)

    def _choose(self, bound):
        """Return the first signature that the arguments fit, and the arguments for C."""
        if len(self._signatures) == 1:
            return self._signatures[0], self._signatures[0].take(bound)
        reasons = []
        for signature in self._signatures:
            try:
                return signature, signature.take(bound)
            except (TypeError, ValueError, OverflowError) as error:
                reasons.append(f"\n  {signature.name}: {error}")
        raise TypeError(f"no signature of {self.__name__} takes these arguments:{''.join(reasons)}")

    def _run(self, context, function, arguments, results):
        state = self._shared.state
        context.is_running = True
        try:
            if state is None:
                return signals.run(context, function, context.handle, *arguments, *results)
            with state.held():
                return signals.run(context, function, context.handle, state._handle, *arguments, *results)
        finally:
            context.is_running = False


def _parameter(row):
    default = row["default"] if "default" in row else OPAQUE if row["optional"] else inspect.Parameter.empty
    return inspect.Parameter(row["name"], inspect._ParameterKind[row["kind"]], default=default)


class Model:
    """The loaded code and weights. Each entry is a method; a model with one entry can be called itself.

    state: what calls keep for the next, or None.
    exceptions: the exception classes of the original's own, by name.
    """

    def __init__(self, weights=None, threads=1):
        manifest = library.read_manifest()
        loaded = _Loaded(_library(manifest), weights or FOLDER / f"{NAME}.safetensors")
        loaded.threads = threads
        self._prepare(loaded, manifest, messages.exception_classes(manifest["exceptions"], NAME))

    def _prepare(self, loaded, manifest, exceptions):
        self._manifest, self.exceptions = manifest, exceptions
        self.level = loaded.c("level")(loaded.handle).decode()
        self._shared = _Shared(loaded, bool(manifest["state"]), exceptions)
        rows = {}
        for row in manifest["entries"]:
            rows.setdefault(row["group"], []).append(row)
        self.entries = {name: Entry(self._shared, rows[name]) for name in rows}
        vars(self).update(self.entries)

    def copy(self):
        """Return a model of the same weights, with a copy of the state and random numbers of its own."""
        made = Model.__new__(Model)
        made._prepare(self._shared.loaded, self._manifest, self.exceptions)
        if self.state is not None:
            made.state = self.state.copy()
        return made

    @property
    def state(self):
        return self._shared.state

    @state.setter
    def state(self, state):
        self._shared.state = state

    def seed(self, seed):
        """Do what torch.manual_seed, random.seed and np.random.seed do, for the calls of this thread."""
        self._shared.loaded.c("context_seed")(self._shared.context().handle, c.c_uint64(seed))

    def __call__(self, *args, **kwargs):
        if len(self.entries) != 1:
            raise TypeError(f"there are several entries, call one of them: {', '.join(self.entries)}")
        return next(iter(self.entries.values()))(*args, **kwargs)


def load(weights=None, threads=1):
    """Load the model, and build the library if needed.

    weights: a file other than the one in this directory.
    threads: a call uses at most so many.
    """
    return Model(weights, threads)
