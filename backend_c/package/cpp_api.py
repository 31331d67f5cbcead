"""NAME.hpp: the C API as C++17 classes."""

from __future__ import annotations

from scriptc.backend_c.package.interface import C_NUMBERS, EntryInterface, Leaf, Package
from scriptc.backend_c.package.templates import fill
from scriptc.backend_c.writer import wrap


def wrapper(package: Package) -> str:
    entries = "\n".join(_method(package, e) for e in package.entries)
    state = fill("state.hpp", name=package.name) if package.state else ""
    results = "".join(_struct(e) for e in package.entries if e.fields is not None)
    return fill("name.hpp", name=package.name, NAME=package.name.upper(), entries=entries, state=state, results=results)


def _struct(entry: EntryInterface) -> str:
    """Return the struct of the results of an entry."""
    leaves = [leaf for leaf in entry.results if leaf.in_c]
    members = [f"    {_result_type(leaf)} {field};" for leaf, field in zip(leaves, entry.fields or (), strict=True)]
    return "\n".join([f"struct {entry.name}_result {{", *members, "};", "", ""])


def _parameter(leaf: Leaf) -> str:
    if leaf.is_nested:
        item = {"tensor": "const DLTensor *", "str": "std::string"}.get(leaf.kind) or C_NUMBERS[leaf.kind]
        return f"const std::vector<std::vector<{item}>> &{leaf.name}"
    if leaf.kind == "tensor":
        return f"const std::vector<const DLTensor *> &{leaf.name}" if leaf.is_list else f"const DLTensor &{leaf.name}"
    if leaf.kind == "str":
        return f"const std::vector<std::string> &{leaf.name}" if leaf.is_list else f"std::string_view {leaf.name}"
    number = C_NUMBERS[leaf.kind]
    return f"const std::vector<{number}> &{leaf.name}" if leaf.is_list else f"{number} {leaf.name}"


def _passed(leaf: Leaf) -> list[str]:
    if not leaf.is_list:
        return [{"tensor": f"&{leaf.name}", "str": f"detail::plain({leaf.name})"}.get(leaf.kind, leaf.name)]
    if leaf.is_nested:
        items = f"detail::joined({leaf.name})"
        items = f"detail::plain({items}).get()" if leaf.kind in ("bool", "str") else f"{items}.data()"
        return [items, f"detail::lengths({leaf.name}).data()", f"static_cast<int64_t>({leaf.name}.size())"]
    data = f"detail::plain({leaf.name}).get()" if leaf.kind in ("bool", "str") else f"{leaf.name}.data()"
    return [data, f"static_cast<int64_t>({leaf.name}.size())"]


def _result_type(leaf: Leaf) -> str:
    item = {"tensor": "Tensor", "str": "std::string"}.get(leaf.kind) or C_NUMBERS[leaf.kind]
    return f"std::vector<std::vector<{item}>>" if leaf.is_nested else f"std::vector<{item}>" if leaf.is_list else item


def _locals(leaf: Leaf) -> list[str]:
    item = "DLManagedTensorVersioned *" if leaf.kind == "tensor" else f"{C_NUMBERS[leaf.kind]} "
    if leaf.is_list:
        rows = [f"int64_t *out_{leaf.lengths};"] if leaf.is_nested else []
        return [f"{item}*out_{leaf.name};", *rows, f"int64_t out_{leaf.count};"]
    return [f"{item}out_{leaf.name};"]


def _taken(package: Package, leaf: Leaf) -> str:
    if leaf.is_list:
        function = {"tensor": "take_tensors", "str": "take_strings"}.get(leaf.kind, "take_numbers")
        if leaf.is_nested:
            rows = f"out_{leaf.lengths}, out_{leaf.count}"
            return f"detail::split(detail::{function}(out_{leaf.name}, detail::total({rows})), {rows})"
        return f"detail::{function}(out_{leaf.name}, out_{leaf.count})"
    if leaf.kind == "str":
        return f"detail::take_string(out_{leaf.name})"
    return f"Tensor(out_{leaf.name})" if leaf.kind == "tensor" else f"out_{leaf.name}"


def _method(package: Package, entry: EntryInterface) -> str:
    arguments = [leaf for leaf in entry.arguments if leaf.in_c]
    results = [leaf for leaf in entry.results if leaf.in_c]
    types = [_result_type(leaf) for leaf in results]
    returned = "void" if not types else types[0] if len(types) == 1 else f"std::tuple<{', '.join(types)}>"
    if entry.fields is not None:
        returned = f"{entry.name}_result"
    stateful = bool(package.state)
    parameters = [*(["State &state"] if stateful else []), *map(_parameter, arguments)]
    lines = [f"    {returned} {entry.name}({', '.join(parameters)})", "    {"]
    lines += [f"        {line}" for leaf in results for line in _locals(leaf)]
    passed = ["context_.get()", *(["state.get()"] if stateful else []), *(text for leaf in arguments for text in _passed(leaf))]
    for leaf in results:
        passed += [f"&out_{part}" for part in leaf.parts()]
    lines.append(f"        check(::{package.name}_{entry.name}({', '.join(passed)}));")
    values = [_taken(package, leaf) for leaf in results]
    if len(values) == 1 and entry.fields is None:
        lines.append(f"        return {values[0]};")
    elif values or entry.fields is not None:
        lines.append(f"        return {{{', '.join(values)}}};")
    return "\n".join(piece for line in [*lines, "    }", ""] for piece in wrap(line))
