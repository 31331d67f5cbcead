"""Link modules: the functions, params and classes of several become those of one, which has the entries of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scriptc.ir.core import Module, Op, Param
from scriptc.ir.types import Names


class LinkError(Exception):
    """Say that two modules give one name to different things."""


@dataclass(frozen=True)
class Part:
    """A module to be linked. params: the new names of its params. targets: the new numbers of targets of `state.set`."""

    module: Module
    params: Mapping[str, str]
    targets: Mapping[int, int]


def link(name: str, parts: Sequence[Part]) -> Module:
    """Return a module with the functions of all parts, which lose theirs. Its entries are those of the parts, in order.

    Params that get one name become one. Functions and records whose names are taken get new ones.

    Raises LinkError if an exception class has other bases in another part, or a param another type.
    """
    linked = Module(name)
    functions, records = Names(), Names()
    for part in parts:
        module = part.module
        renamed = {old: functions.fresh(old) for old in module.funcs}
        for record in module.records.values():
            record.name = records.fresh(record.name)
            linked.records[record.name] = record
        for op in module.walk():
            _rename(op, part, renamed)
        for old, func in module.funcs.items():
            func.name = renamed[old]
            linked.funcs[func.name] = func
        linked.entries += [renamed[entry] for entry in module.entries]
        for old, param in module.params.items():
            new = Param(part.params[old], param.type)
            if linked.params.setdefault(new.name, new) != new:
                raise LinkError(f"'{new.name}' names tensors of several types")
        for made, bases in module.exceptions.items():
            if linked.exceptions.setdefault(made, bases) != bases:
                raise LinkError(f"two exception classes are named {made}")
        module.funcs = {}
    return linked


def _rename(op: Op, part: Part, functions: Mapping[str, str]) -> None:
    if "func" in op.attrs:
        op.attrs["func"] = functions[op.attrs["func"]]
    match op.name:
        case "param":
            op.attrs["name"] = part.params[op.attrs["name"]]
        case "state.set":
            op.attrs["target"] = part.targets[op.attrs["target"]]
        case "user_gradient" if op.attrs["backward"]:
            op.attrs["backward"] = functions[op.attrs["backward"]]
