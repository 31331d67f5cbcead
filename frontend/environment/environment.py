"""The world outside of the compiled function: the values that a reading bakes in or late-binds, and the guards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scriptc.frontend.environment.specs import Guard, LateBoundTensor, LateBoundValue, Raised
from scriptc.frontend.values.abstract import AbstractValue
from scriptc.ir.core import Param
from scriptc.ir.dtypes import complex_of


@dataclass
class Environment:
    """Keep the objects outside of its arguments that the entry depends on. `dtype` is torch's default dtype."""

    dtype: str
    guards: dict[Any, Guard] = field(default_factory=dict)
    tensors: list[LateBoundTensor] = field(default_factory=list)
    values: list[LateBoundValue] = field(default_factory=list)
    param_of: dict[int, Param] = field(default_factory=dict)  # by the id of a tensor
    names_of_params: dict[str, int] = field(default_factory=dict)  # by name: the parameters that asked for it
    tables: dict[Any, AbstractValue] = field(default_factory=dict)  # dicts outside that exist as run-time dicts
    objects: list[AbstractValue] = field(default_factory=list)  # arguments whose changes are written back
    keep: list[Any] = field(default_factory=list)  # objects that must outlive the reading, since their ids are keys
    # Ids of objects that a call at compile time made, so that only the compiled code can change them.
    made: set[int] = field(default_factory=set)
    watched: dict[Any, Any] = field(default_factory=dict)  # objects whose content is guarded, by id and depth
    raised: dict[type, Raised] = field(default_factory=dict)  # by class: the attributes of raised exceptions
    exceptions: dict[str, type[BaseException]] = field(default_factory=dict)  # classes that Python does not define
    found: dict[int, tuple[Any, Any]] = field(default_factory=dict)  # by id of a list or dict: its container and key
    parameter_tables: set[int] = field(default_factory=set)  # ids of the tables of modules that hold parameters alone
    same_as: dict[str, str] = field(default_factory=dict)  # by name of a container in the arguments: its first name
    module_paths: dict[int, str] = field(default_factory=dict)  # by id of a submodule of the entry: its path
    names: dict[int, str] = field(default_factory=dict)  # ahead of time, by id: names of tensors and dicts outside
    arrays: dict[int, Any] = field(default_factory=dict)  # by id of a NumPy array outside: a tensor of its memory
    autocast: list[str | None] = field(default_factory=list)  # the dtypes of the `autocast`s around the code, innermost last

    def guard(self, kind: str, container: Any, key: Any, expected: Any) -> None:
        """Add a guard, unless compiled code made the container."""
        if id(container) in self.made:
            return
        at = kind, id(container), key
        if at not in self.guards:
            self.guards[at] = Guard(kind, container, key, expected)
            self.keep.append(container)

    @property
    def default_dtype(self) -> str:
        """Return torch.get_default_dtype(), which is guarded."""
        self.guard("DEFAULT_DTYPE_IS", None, None, self.dtype)
        return self.dtype

    @property
    def default_complex(self) -> str:
        """Return the dtype of complex numbers in a new tensor."""
        return complex_of(self.default_dtype)
