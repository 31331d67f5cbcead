"""Replace strings of one character by the codes of their characters.

    %k = str.code_at(%s, %i)                          %k = str.code_at(%s, %i)
    %c = str.chr(%k)                                  %b = const() {value = 32}
    %a = const() {value = " "}               =>       %t = int.eq(%k, %b)
    %t = str.eq(%c, %a)                               %u = code.isalpha(%k)
    %u = str.isalpha(%c)                              %v = str.push(%w, %k)
    %v = str.concat(%w, %c)

A string of one character that only one branch uses is made in that branch.
"""

from __future__ import annotations

from collections.abc import Mapping

from scriptc.ir.core import Module, Op, Value
from scriptc.ir.ops import OPS
from scriptc.ir.ranges import constant, constant_int, is_below
from scriptc.ir.regions import ancestor_in
from scriptc.ir.rewrite import Rewriter, on, rewrite

_COMPARED = frozenset(f"str.{n}" for n in ("eq", "ne", "lt", "le", "gt", "ge"))
_OF_CODES = {name.replace("code.", "str.", 1): name for name in OPS if name.startswith("code.")}
_SHORT = 8  # the longest string whose characters are compared one by one


def _code(value: Value) -> Value | int | None:
    """Return the code of a string of one character."""
    if value.op is not None and value.op.name == "str.chr":
        return value.op.operands[0]
    text = constant(value)
    return ord(text) if isinstance(text, str) and len(text) == 1 else None


def _made(value: Value) -> Value | None:
    """Return the code of a one-character string that is made at run time."""
    code = _code(value)
    return code if isinstance(code, Value) else None


@on(*_COMPARED)
def compare_codes(op: Op, rw: Rewriter) -> bool:
    if not any(map(_made, op.operands)):
        return False
    codes = [_code(v) for v in op.operands]
    if any(c is None for c in codes):
        other = next(constant(v) for v, c in zip(op.operands, codes, strict=True) if c is None)
        if op.name not in ("str.eq", "str.ne") or not isinstance(other, str):
            return False
        rw.replace(op, [rw.const_before(op, op.name == "str.ne")])  # the lengths differ
        return True
    values = [c if isinstance(c, Value) else rw.const_before(op, c) for c in codes]
    rw.replace(op, [rw.insert_before(op, op.name.replace("str.", "int."), values)])
    return True


@on(*_OF_CODES)
def test_code(op: Op, rw: Rewriter) -> bool:
    if (code := _made(op.operands[0])) is None:
        return False
    rw.replace(op, [rw.insert_before(op, _OF_CODES[op.name], [code])])
    return True


@on("str.len", "str.code", "str.code_at")
def item_of_one(op: Op, rw: Rewriter) -> bool:
    """Replace the length of a one-character string by 1, and its first code by the code that made it."""
    if (code := _made(op.operands[0])) is None:
        return False
    if op.name == "str.len":
        code = rw.const_before(op, 1)
    elif constant_int(op.operands[1]) not in (0, -1):
        return False
    rw.replace(op, [code])
    return True


@on("str.contains")
def contains_code(op: Op, rw: Rewriter) -> bool:
    if (code := _made(op.operands[1])) is None:
        return False
    text = constant(op.operands[0])
    if not isinstance(text, str) or not 0 < len(text) <= _SHORT:
        rw.replace(op, [rw.insert_before(op, "str.holds", [op.operands[0], code])])
        return True
    found: Value | None = None
    for c in dict.fromkeys(text):
        equal = rw.insert_before(op, "int.eq", [code, rw.const_before(op, ord(c))])
        found = equal if found is None else rw.insert_before(op, "bool.or_", [found, equal])
    assert found is not None
    rw.replace(op, [found])
    return True


@on("str.concat")
def push_code(op: Op, rw: Rewriter) -> bool:
    if (code := _made(op.operands[1])) is None:
        return False
    rw.replace(op, [rw.insert_before(op, "str.push", [op.operands[0], code], hint=op.result.name)])
    return True


@on("str.code")
def code_at_counter(op: Op, rw: Rewriter) -> bool:
    """Drop the bounds check of the counter of a loop over a string."""
    text, index = op.operands
    if not is_below(index, lambda o: o.name == "str.len" and o.operands[0] is text):
        return False
    rw.replace(op, [rw.insert_before(op, "str.code_at", [text, index], hint=op.result.name)])
    return True


@on("str.chr")
def made_on_branch(op: Op, rw: Rewriter) -> bool:
    """Sink a one-character string into the regions of the one `if` that use it."""
    if op.parent is None or not op.result.uses:
        return False
    users = op.result.users()
    holders = {ancestor_in(op.parent, user) for user in users}
    holder = holders.pop()
    if holders or holder is None or holder.name != "if" or holder in users:
        return False
    for region in holder.regions:
        inside = [user for user in users if ancestor_in(region, user) is not None]
        if inside:
            made = rw.insert_before(region.ops[0], "str.chr", op.operands, hint=op.result.name)
            for user in inside:
                rw.set_operands(user, [made if v is op.result else v for v in user.operands])
    rw.erase_unused(op)
    return True


RULES = [
    compare_codes, test_code, item_of_one, contains_code, push_code, code_at_counter, made_on_branch,
]  # fmt: skip


def run(module: Module, options: Mapping[str, int]) -> bool:
    return rewrite(module, RULES)
