"""NAME_pybind11.cpp: an extension module of Python that calls NAME.hpp, by pybind11."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from scriptc.backend_c.literals import c_string
from scriptc.backend_c.package.interface import EntryInterface, Package
from scriptc.backend_c.package.manifest import exception_rows
from scriptc.backend_c.package.templates import FOLDER, fill
from scriptc.backend_c.writer import wrap

_TAKES = {"i64": "i64", "f64": "f64", "bool": "boolean", "str": "str"}
_STATE_NEW = "        state = std::make_shared<Kept>(model);\n"
_STATE_COPY = "        made->state = state->copy();\n"
_STATE_HELD = "        std::shared_ptr<Kept> kept = state;\n        Lock::Held held(kept->lock);\n"
_STATE_MEMBER = "    std::shared_ptr<Kept> state;\n"
_STATE_BOUND = r"""    py::class_<Kept, std::shared_ptr<Kept>>(module, "State", py::module_local(),
        "The state that a model keeps from call to call. A model has one, which another may replace.")
        .def("reset", &Kept::reset, "reset(self, /)\n--\n\nSet the state to its value at build time.")
        .def("copy", &Kept::copy, "copy(self, /)\n--\n\nReturn a copy of the state.")
        .def("__copy__", &Kept::copy, "__copy__(self, /)\n--\n\nReturn a copy of the state.")
        .def("save", &Kept::save, py::arg("path"),
             "save(self, /, path)\n--\n\nSave to a safetensors file, which replaces an earlier one when it is complete.")
        .def("load", &Kept::load, py::arg("path"),
             "load(self, /, path)\n--\n\nLoad a saved state. RuntimeError leaves the state unchanged.");
"""
_STATE_PROPERTY = """        .def_property("state", [](const Loaded &self) { return self.state; },
                      [](Loaded &self, const std::shared_ptr<Kept> &state) {
                          if (!state || state->model != self.model) throw py::type_error("a state of another model");
                          self.state = state;
                      }, "What calls keep for the next.")
"""
_NO_STATE_PROPERTY = """        .def_property_readonly("state", [](const Loaded &) { return py::none(); },
                               "None: calls keep nothing.")
"""


def module(package: Package) -> str:
    constants = _Constants()
    groups = package.groups()
    entries = "\n".join(_Entry(package, entry, constants).function() for entry in package.entries)
    entries += "".join("\n" + _chooser(group, signatures) for group, signatures in groups.items())
    bound = "\n".join(_bound(group, signatures, constants, len(groups) == 1) for group, signatures in groups.items())
    stateful = bool(package.state)
    return fill(
        "name_pybind11.cpp",
        name=package.name,
        messages=(FOLDER / "name_messages.py").read_text(encoding="utf-8"),
        state_class=fill("pybind11_state.hpp") if stateful else "",
        state_new=_STATE_NEW if stateful else "",
        state_copy=_STATE_COPY if stateful else "",
        state_held=_STATE_HELD if stateful else "",
        state_passed=", kept->state" if stateful else "",
        state_member=_STATE_MEMBER if stateful else "",
        state_bound=_STATE_BOUND if stateful else "",
        state_property=_STATE_PROPERTY if stateful else _NO_STATE_PROPERTY,
        entries=entries,
        exceptions=c_string(json.dumps(exception_rows(package))),
        constants=", ".join(map(c_string, constants.values)),
        classes=", ".join(map(c_string, constants.classes)),
        bound=bound,
        has_weights_file="true" if package.weights and not package.embed_weights else "false",
        module_doc=c_string(f"{package.name}: compiled code called from Python, without torch. Made by scriptc."),
    )


def header(package: Package) -> str:
    return fill("name_pybind11.hpp", name=package.name, NAME=package.name.upper())


class _Constants:
    """Number the constants of the build and the classes of named tuples, which the module makes when it is imported."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self.classes: list[str] = []

    def of(self, value: Any) -> str:
        """Return the C++ expression of a constant."""
        return f"objects->constants[{_numbered(self.values, json.dumps(value))}]"

    def named_tuple(self, name: str, fields: list[str]) -> str:
        """Return the C++ expression of a class."""
        return f"objects->classes[{_numbered(self.classes, json.dumps([name, fields]))}]"


def _numbered(texts: list[str], text: str) -> int:
    if text not in texts:
        texts.append(text)
    return texts.index(text)


class _Entry:
    """Write the function that takes Python's arguments apart, calls the entry, and makes Python's results."""

    def __init__(self, package: Package, entry: EntryInterface, constants: _Constants):
        self.package, self.entry, self.constants = package, entry, constants
        self.number = 0  # of the next leaf of the arguments
        self.results = enumerate(leaf for leaf in entry.results if leaf.in_c)
        self.count = 0
        self.lines: list[str] = []
        self.passed: list[str] = []

    def function(self) -> str:
        parameters = self.entry.python["parameters"]
        for i, row in enumerate(parameters):
            self.take(f"p{i}", row["spec"], row["name"])
        leaves = [leaf for leaf in self.entry.results if leaf.in_c]
        state = ", State &state" if self.package.state else ""
        passed = ", ".join([*(["state"] if self.package.state else []), *self.passed])
        call = f"self.run(arguments, [&](Context &context{state}) {{ return context.{self.entry.name}({passed}); }});"
        names = ", ".join(f"r{i}" for i in range(len(leaves)))
        many = len(leaves) > 1 or (leaves and self.entry.fields is not None)
        left = "" if not leaves else f"auto [{names}] = " if many else f"auto {names} = "
        taken = ["Loaded &self", "Arguments &arguments", *_parameters(self.entry)]
        lines = [
            f"static py::object call_{self.entry.name}({', '.join(taken)})", "{",
            *(f"    {line}" for line in self.lines),
            f"    {left}{call}",
            "    Results form = self.form(arguments);",
            "    unused(form);",
            f"    return {self.give(self.entry.python['result'])};", "}", "",
        ]  # fmt: skip
        return "\n".join(piece for line in lines for piece in wrap(line))

    # ---- arguments ----

    def take(self, value: str, spec: dict[str, Any], name: str) -> None:
        """Add the statements that check a value, and pass its leaves."""
        quoted = c_string(name)
        match spec["is"]:
            case "known":
                self.lines.append(f"arguments.known({value}, {quoted}, {self.constants.of(spec['value'])});")
            case "opaque":
                self.lines.append(f"arguments.opaque({value}, {quoted}, {c_string(spec['text'])});")
            case "tensor":
                self.leaf(f"arguments.tensor({value}, {{{quoted}}}{self.written()})", "*")
            case "number":
                self.leaf(f"arguments.{_TAKES[spec['type']]}({value}, {{{quoted}}})")
            case "list" if spec["of"] is None:
                self.number += 1
                self.lines.append(f"arguments.empty({value}, {quoted});")
            case "list" if spec["of"]["is"] == "list":
                of = spec["of"]["of"]
                kind = "tensor" if of["is"] == "tensor" else _TAKES[of["type"]]
                self.leaf(f"arguments.{kind}_rows({value}, {quoted}{self.written() if kind == 'tensor' else ''})")
            case "list":
                of_tensors = spec["of"]["is"] == "tensor"
                kind = "tensor" if of_tensors else _TAKES[spec["of"]["type"]]
                self.leaf(f"arguments.{kind}s({value}, {quoted}{self.written() if of_tensors else ''})")
            case "tuple" if spec["class"] == "complex":
                made = self.fresh()
                self.lines.append(f"auto {made} = arguments.complex({value}, {quoted});")
                for i in range(2):
                    self.number += 1
                    self.passed.append(f"{made}[{i}]")
            case "object":
                for name_of_part, item in zip(spec["fields"], spec["items"], strict=True):
                    made = self.fresh()
                    text = c_string(name_of_part)
                    self.lines.append(f"py::object {made} = arguments.attribute({value}, {quoted}, {text});")
                    self.take(made, item, f"{name}.{name_of_part}")
            case "tuple" if spec["class"] == "list":
                made = self.fresh()
                self.lines.append(f"auto {made} = arguments.items({value}, {quoted}, {len(spec['items'])});")
                for i, item in enumerate(spec["items"]):
                    self.take(f"{made}[{i}]", item, f"{name}[{i}]")
                self.lines.append(f"unused({made});")
            case "tuple":
                made = self.fresh()
                self.lines.append(f"auto {made} = arguments.tuple({value}, {quoted}, {len(spec['items'])});")
                for i, item in enumerate(spec["items"]):
                    self.take(f"py::object({made}[{i}])", item, f"{name}[{i}]")
            case _:
                made, keys = self.fresh(), ", ".join(map(self.constants.of, spec["keys"]))
                self.lines.append(f"auto {made} = arguments.dict({value}, {quoted}, {{{keys}}});")
                for i, (key, item) in enumerate(zip(spec["keys"], spec["items"], strict=True)):
                    self.take(f"{made}[{i}]", item, f"{name}[{key!r}]")
                self.lines.append(f"unused({made});")

    def written(self) -> str:
        """Return the last argument of a function that takes the next leaf, if the entry may write to the leaf."""
        return ", true" if self.number in self.entry.written else ""

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def leaf(self, taken: str, prefix: str = "") -> None:
        self.number += 1
        made = self.fresh()
        self.lines.append(f"auto {made} = {taken};")
        self.passed.append(prefix + made)

    # ---- results ----

    def give(self, spec: dict[str, Any]) -> str:
        """Return the C++ expression of a result."""
        match spec["is"]:
            case "known":
                return self.constants.of(spec["value"])
            case "list" if spec["of"] is None:
                return "py::list()"
            case "tensor" | "list":
                return f"give(std::move(r{next(self.results)[0]}), form)"
            case "number":
                return f"give(r{next(self.results)[0]}, form)"
            case "dict":
                pairs = zip(spec["keys"], map(self.give, spec["items"]), strict=True)
                return f"give_dict({{{', '.join(f'{{{self.constants.of(key)}, {item}}}' for key, item in pairs)}}})"
        if spec["class"] == "complex":
            parts = [f"r{next(self.results)[0]}" for _ in range(2)]
            return f"give_complex({', '.join(parts)})"
        items = ", ".join(map(self.give, spec["items"]))
        if spec["class"] == "list":
            return f"give_list({{{items}}})"
        if spec["fields"]:
            return f"{self.constants.named_tuple(spec['class'], spec['fields'])}({items})"
        return f"py::make_tuple({items})"


def _parameters(entry: EntryInterface) -> list[str]:
    """Return the C++ parameters for Python's arguments."""
    types = {"VAR_POSITIONAL": "py::args", "VAR_KEYWORD": "py::kwargs"}
    return [f"const {types.get(row['kind'], 'py::object')} &p{i}" for i, row in enumerate(entry.python["parameters"])]


def _chooser(group: str, signatures: list[EntryInterface]) -> str:
    """Return the function of a name in Python. It calls the first signature that the arguments fit."""
    parameters = _parameters(signatures[0])
    passed = ", ".join(["self", "arguments", *(f"p{i}" for i in range(len(parameters)))])
    lines = [f"static py::object choose_{group}({', '.join(['Loaded &self', *parameters])})", "{"]
    if len(signatures) == 1:
        lines += ["    Arguments arguments;", f"    return call_{signatures[0].name}({passed});", "}", ""]
        return "\n".join(piece for line in lines for piece in wrap(line))
    lines.append("    std::string reasons;")
    for each in signatures:
        lines += [
            "    {", "        Arguments arguments;", "        try {", f"            return call_{each.name}({passed});",
            "        } catch (...) {", f'            add_reason(reasons, "{each.name}", arguments);', "        }", "    }",
        ]  # fmt: skip
    lines.append(f'    throw py::type_error("no signature of {group} takes these arguments:" + reasons);')
    return "\n".join(piece for line in [*lines, "}", ""] for piece in wrap(line))


# ---- the signatures and documentation that Python sees ----


def _bound(group: str, signatures: list[EntryInterface], constants: _Constants, is_only: bool) -> str:
    names = [group, *(["__call__"] if is_only else [])]
    rows = []
    for name in names:
        extras = _extras(signatures[0].python["parameters"], constants)
        passed = ", ".join([c_string(name), f"choose_{group}", *extras, _docstring(name, signatures)])
        rows.append(f"    model.def({passed});")
    return "\n".join(piece for row in rows for piece in wrap(row))


def _extras(parameters: list[dict[str, Any]], constants: _Constants) -> Iterator[str]:
    """Yield pybind11's annotations of the parameters."""
    kinds = [row["kind"] for row in parameters]
    for i, row in enumerate(parameters):
        if row["kind"] == "KEYWORD_ONLY" and "KEYWORD_ONLY" not in kinds[:i] and "VAR_POSITIONAL" not in kinds:
            yield "py::kw_only()"
        if row["kind"] not in ("VAR_POSITIONAL", "VAR_KEYWORD"):
            default = f" = {_default(row, constants)}" if row["optional"] else ""
            yield f"py::arg({c_string(row['name'])}){default}"
        if row["kind"] == "POSITIONAL_ONLY" and kinds[i + 1 : i + 2] != ["POSITIONAL_ONLY"]:
            yield "py::pos_only()"


def _default(row: dict[str, Any], constants: _Constants) -> str:
    return constants.of(row["default"]) if "default" in row else "objects->opaque"


def _docstring(name: str, signatures: list[EntryInterface]) -> str:
    """Return the literal of a docstring, which begins with a signature in the form that `inspect` reads."""
    parts = ["self"]
    parameters = signatures[0].python["parameters"]
    kinds = [row["kind"] for row in parameters]
    if "POSITIONAL_ONLY" not in kinds:
        parts.append("/")
    for i, row in enumerate(parameters):
        if row["kind"] == "KEYWORD_ONLY" and "KEYWORD_ONLY" not in kinds[:i] and "VAR_POSITIONAL" not in kinds:
            parts.append("*")
        stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(row["kind"], "")
        parts.append(stars + row["name"] + (f"={_shown(row)}" if row["optional"] else ""))
        if row["kind"] == "POSITIONAL_ONLY" and kinds[i + 1 : i + 2] != ["POSITIONAL_ONLY"]:
            parts.append("/")
    lines = [f"{name}({', '.join(parts)})", "--", "", signatures[0].declared]
    for entry in signatures:
        lines += ["", *(f"{leaf.name}: {leaf.describe()}" for leaf in entry.arguments if leaf.in_c)]
        results = ", ".join(leaf.describe() for leaf in entry.results if leaf.in_c)
        lines.append(f"Returns {results or 'constants alone'}.")
    return c_string("\n".join(lines))


def _shown(row: dict[str, Any]) -> str:
    """Return a default as a literal, or as `...` where it has none."""
    value = row.get("default", ...)
    if isinstance(value, float) and not math.isfinite(value):
        return "..." if math.isnan(value) else "1e999" if value > 0 else "-1e999"
    return "..." if value is ... else repr(value)
