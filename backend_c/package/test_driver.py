"""tests/NAME_test.c, which replays recorded calls through NAME.h."""

from __future__ import annotations

from scriptc.backend_c.package.interface import C_NUMBERS, MEMBERS, EntryInterface, Leaf, Package
from scriptc.backend_c.package.templates import fill
from scriptc.backend_c.writer import wrap


def driver(package: Package) -> str:
    return fill(
        "name_test.c",
        name=package.name,
        functions="\n".join(_function(package, e) for e in package.entries),
        table="\n".join(map(_row, package.entries)),
        has_state=str(int(bool(package.state))),
        has_weights_file=str(int(bool(package.weights) and not package.embed_weights)),
    )


def _row(entry: EntryInterface) -> str:
    return f'    {{"{entry.name}", call_{entry.name}}},'


def _argument(leaf: Leaf, i: int) -> list[str]:
    if not leaf.in_c:
        return []
    if leaf.is_list:
        items = {"tensor": "tensors", "i64": "integers", "f64": "doubles", "bool": "bools", "str": "strings"}[leaf.kind]
        return [f"v[{i}].{items}", *([f"v[{i}].lengths"] if leaf.is_nested else []), f"v[{i}].n"]
    return [f"v[{i}].{'tensor' if leaf.kind == 'tensor' else MEMBERS[leaf.kind]}"]


def _function(package: Package, entry: EntryInterface) -> str:
    n, results = len(entry.arguments), [(i, leaf) for i, leaf in enumerate(entry.results) if leaf.in_c]
    state = ["state"] if package.state else []
    lines = [f"static int call_{entry.name}({package.name}_context *context, const pair_value *v, comparison *c)", "{"]
    passed = ["context", *state, *(text for i, leaf in enumerate(entry.arguments) for text in _argument(leaf, i))]
    for _, leaf in results:
        item = "DLManagedTensorVersioned *" if leaf.kind == "tensor" else f"{C_NUMBERS[leaf.kind]} "
        lines.append(f"    {item}{'*' if leaf.is_list else ''}{leaf.name};")
        passed += [f"&{part}" for part in leaf.parts()]
        if leaf.is_nested:
            lines.append(f"    int64_t *{leaf.lengths};")
        if leaf.is_list:
            lines.append(f"    int64_t {leaf.count};")
    lines.append(f"    int code = {package.name}_{entry.name}({', '.join(passed)});")
    lines.append("    if (code) return code;")
    lines += [
        f"    {line}" for i, leaf in results for line in _compare(package, leaf, n + i, n + len(entry.results) + i)
    ]
    unused = [] if entry.arguments or results else ["v"]
    lines += [f"    (void){name};" for name in [*unused, *([] if results else ["c"])]]
    lines += ["    return 0;", "}", ""]
    return "\n".join(piece for line in lines for piece in wrap(line))


def _compare(package: Package, leaf: Leaf, expected: int, reference: int) -> list[str]:
    if leaf.is_nested:
        if leaf.kind == "tensor":
            wide = "other ? &other->items[k] : &none"
            row = f'compare_tensor(c, "{leaf.name}", &{leaf.name}[at]->dl_tensor, &want->items[k], {wide});'
            free = f"{package.name}_free_tensors({leaf.name}, at);"
        else:
            got = f"{leaf.name}[at]"
            row = f'compare_number(c, "{leaf.name}", (double){got}, (double)want->items[k].{MEMBERS[leaf.kind]});'
            if leaf.kind == "str":
                row = f'compare_string(c, "{leaf.name}", {got}, want->items[k].s);'
            free = f"{package.name}_free_array({leaf.name});"
        other = f"v[{reference}].items && v[{reference}].n > row ? &v[{reference}].items[row] : NULL"
        return [
            "{",
            "    int64_t at = 0;",
            "    static const pair_value none = {.tag = PAIR_NOTHING};",
            f'    compare_length(c, "{leaf.name}", {leaf.count}, v[{expected}].n);',
            f"    for (int64_t row = 0; row < {leaf.count}; row++) {{",
            f"        const pair_value *want = row < v[{expected}].n ? &v[{expected}].items[row] : &none;",
            f"        const pair_value *other = {other};",
            "        (void)other;",
            f'        compare_length(c, "{leaf.name}", {leaf.lengths}[row], want->n);',
            f"        for (int64_t k = 0; k < {leaf.lengths}[row]; k++, at++)",
            f"            if (k < want->n) {row}",
            "    }",
            f"    {free}",
            f"    {package.name}_free_array({leaf.lengths});",
            "}",
        ]
    if leaf.kind == "tensor" and leaf.is_list:
        return [
            f'compare_length(c, "{leaf.name}", {leaf.count}, v[{expected}].n);',
            f"for (int64_t k = 0; k < {leaf.count} && k < v[{expected}].n; k++)",
            f'    compare_tensor(c, "{leaf.name}", &{leaf.name}[k]->dl_tensor, &v[{expected}].items[k],',
            f"                   v[{reference}].items ? &v[{reference}].items[k] : &v[{reference}]);",
            f"{package.name}_free_tensors({leaf.name}, {leaf.count});",
        ]
    if leaf.kind == "tensor":
        return [
            f'compare_tensor(c, "{leaf.name}", &{leaf.name}->dl_tensor, &v[{expected}], &v[{reference}]);',
            f"{leaf.name}->deleter({leaf.name});",
        ]
    member = MEMBERS[leaf.kind]  # pair_value has members of the same names
    if leaf.kind == "str" and not leaf.is_list:
        return [
            f'compare_string(c, "{leaf.name}", {leaf.name}, v[{expected}].s);',
            f"{package.name}_free_array((void *){leaf.name}.data);",
        ]
    if leaf.is_list:
        compare = f'compare_number(c, "{leaf.name}", (double){leaf.name}[k], (double)v[{expected}].items[k].{member});'
        if leaf.kind == "str":
            compare = f'compare_string(c, "{leaf.name}", {leaf.name}[k], v[{expected}].items[k].s);'
        return [
            f'compare_length(c, "{leaf.name}", {leaf.count}, v[{expected}].n);',
            f"for (int64_t k = 0; k < {leaf.count} && k < v[{expected}].n; k++)",
            f"    {compare}",
            f"{package.name}_free_array({leaf.name});",
        ]
    return [f'compare_number(c, "{leaf.name}", (double){leaf.name}, (double)v[{expected}].{member});']
