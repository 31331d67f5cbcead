"""What the mixins of the reader ask of one another."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

from scriptc.frontend.frame import Frame
from scriptc.frontend.source import Source
from scriptc.frontend.specs import Live, ScalarSpec
from scriptc.frontend.stack_room import StackLeft
from scriptc.frontend.values import (
    AV,
    DictV,
    Dyn,
    GeneratorV,
    IteratorV,
    Known,
    KnownLengthListV,
    ListV,
    Maybe,
    ObjectV,
    OneOf,
    RecordDictV,
    RecordV,
    ReversedV,
    SuperV,
    Tup,
    ZipV,
)
from scriptc.ir.core import Value
from scriptc.ir.types import NEVER, ListType, TupleType, Type

if TYPE_CHECKING:
    from scriptc.frontend.context import Walk


class Parts:
    """Each is supplied by one of the mixins."""

    def eval(self, node: ast.expr) -> AV:
        raise NotImplementedError

    def call(self, func: AV, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        raise NotImplementedError

    def attribute(self, owner: AV, name: str) -> AV:
        raise NotImplementedError

    def complex_attribute(self, av: AV, name: str) -> AV | None:
        raise NotImplementedError

    def real_part(self, tensor: AV) -> AV:
        raise NotImplementedError

    def imaginary_part(self, tensor: AV) -> AV:
        raise NotImplementedError

    def binary(self, op: str, a: AV, b: AV) -> AV:
        raise NotImplementedError

    def truth(self, av: AV) -> AV:
        raise NotImplementedError

    def test(self, node: ast.expr) -> AV:
        raise NotImplementedError

    def iterate(self, av: AV) -> list[AV]:
        raise NotImplementedError

    def evaluate(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> AV:
        raise NotImplementedError

    def replaced_operator(self, name: str, tensor: AV, *args: AV) -> AV | None:
        raise NotImplementedError

    def bound_to(self, owner: AV, cls: type, name: str, raw: Any) -> AV:
        raise NotImplementedError

    def watch_names(self, cls: type) -> None:
        raise NotImplementedError

    def watch(self, obj: Any, deep: bool = True) -> None:
        raise NotImplementedError

    def watch_object(self, obj: Any) -> None:
        raise NotImplementedError

    def watch_class_attribute(self, cls: type, name: str) -> None:
        raise NotImplementedError

    def watch_function(self, func: FunctionType) -> None:
        raise NotImplementedError

    def watch_bases(self, classes: Any) -> None:
        raise NotImplementedError

    def inline(self, frame: Frame, body: Sequence[ast.stmt]) -> AV:
        raise NotImplementedError

    def write(self, dst: AV, src: AV) -> AV:
        raise NotImplementedError

    def check_that(self, condition: AV, type: str, message: str) -> None:
        raise NotImplementedError

    def wrap(self, value: Value) -> AV:
        raise NotImplementedError

    def outside_value(self, obj: Any, container: Any, key: Any, name: str, *, guarded: bool) -> AV:
        raise NotImplementedError

    def is_parameter(self, av: AV) -> bool:
        raise NotImplementedError

    def live_tensor(self, tensor: Any, container: Any, key: Any, name: str) -> Dyn:
        raise NotImplementedError

    def live_place(self, tensor: AV) -> Live | None:
        raise NotImplementedError

    def shape(self, tensor: AV) -> AV:
        raise NotImplementedError

    def size_av(self, tensor: AV, dim: int) -> AV:
        raise NotImplementedError

    def known_item(self, owner: Known, key: Any) -> AV:
        raise NotImplementedError

    def known_items(self, owner: Known) -> list[AV]:
        raise NotImplementedError

    def checked_iterable(self, av: AV, quality: str = "iterable") -> AV:
        raise NotImplementedError

    def iteration(self, av: AV, site: Any) -> Walk:
        raise NotImplementedError

    def inplace(self, op: str, a: AV, b: AV) -> AV:
        raise NotImplementedError

    def load(self, name: str) -> AV:
        raise NotImplementedError

    def subscript(self, owner: AV, index: AV) -> AV:
        raise NotImplementedError

    def outside_subscript(self, owner: Known, index: AV) -> AV:
        raise NotImplementedError

    def demand(self, owner: AV, method: str, complaint: str) -> None:
        raise NotImplementedError

    def item_at(self, owner: AV, index: int) -> AV:
        raise NotImplementedError

    def size(self, tensor: AV, dim: int) -> Value:
        raise NotImplementedError

    def store_item(self, owner: AV, index: AV, value: AV) -> None:
        raise NotImplementedError

    def store_attribute(self, owner: AV, name: str, value: AV) -> None:
        raise NotImplementedError

    def delete_item(self, owner: AV, index: AV) -> None:
        raise NotImplementedError

    def super_of(self, cls: type, first: AV) -> AV:
        raise NotImplementedError

    def set_attribute(self, owner: ObjectV, name: str, value: AV) -> None:
        raise NotImplementedError

    def items_changed(self, av: DictV | ObjectV | KnownLengthListV, old: dict[Any, AV], new: dict[Any, AV]) -> None:
        raise NotImplementedError

    def is_new_and_held(self, av: AV, names: int) -> bool:
        raise NotImplementedError

    def store_outside(self, obj: Any, name: str, value: AV) -> None:
        raise NotImplementedError

    def store_plain(self, obj: Any, name: str, value: AV) -> None:
        raise NotImplementedError

    def delete_attribute(self, obj: Any, name: str) -> None:
        raise NotImplementedError

    def place_of(self, tensor: AV) -> AV:
        raise NotImplementedError

    def change_outside(self, obj: Any) -> None:
        raise NotImplementedError

    def is_plain_attribute(self, owner: AV, name: str) -> bool:
        raise NotImplementedError

    def check_operands(self, name: str, dst: AV, operands: Sequence[AV]) -> None:
        raise NotImplementedError

    def check_placed(self, view: AV, index: AV, value: AV) -> None:
        raise NotImplementedError

    def spread_into(self, view: AV, value: AV) -> None:
        raise NotImplementedError

    def check_overlap(self, dst: AV, *operands: AV, apart: bool = False) -> None:
        raise NotImplementedError

    def cast(self, av: AV, dtype: str) -> AV:
        raise NotImplementedError

    def class_value(self, owner: AV, cls: type, name: str) -> AV | None:
        raise NotImplementedError

    def found_in_class(self, owner: ObjectV, name: str) -> AV:
        raise NotImplementedError

    def refuse_attributes_of_some(self, owner: ObjectV) -> None:
        raise NotImplementedError

    def element(self, av: AV, name: str = "item") -> AV:
        raise NotImplementedError

    def named_tuple(self, cls: type, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        raise NotImplementedError

    def super_value(self, owner: SuperV, name: str) -> AV:
        raise NotImplementedError

    def object_attribute(self, owner: ObjectV, name: str) -> AV:
        raise NotImplementedError

    def at_entry(self, make: Callable[[], AV]) -> AV:
        raise NotImplementedError

    def joined(self, parts: list[AV]) -> AV:
        raise NotImplementedError

    def text_parts(self, value: AV, *, quoted: bool = False) -> Iterator[AV]:
        raise NotImplementedError

    def both(self, a: AV, b: AV) -> AV:
        raise NotImplementedError

    def to_int(self, v: Value) -> Value:
        raise NotImplementedError

    def bad_operands(self, op: str, a: AV, b: AV) -> NoReturn:
        raise NotImplementedError

    def branch(
        self, condition: AV, then: Callable[[], bool], orelse: Callable[[], bool], names: frozenset[str] | None
    ) -> bool:  # fmt: skip
        raise NotImplementedError

    def choose(self, condition: AV, then: Callable[[], AV], orelse: Callable[[], AV]) -> AV:
        raise NotImplementedError

    def walk_table(self, av: AV) -> Walk:
        raise NotImplementedError

    def new_dict(self, pairs: Sequence[tuple[AV, AV]], site: Any) -> AV:
        raise NotImplementedError

    def new_set(self, items: Sequence[AV], site: Any) -> AV:
        raise NotImplementedError

    def may_table(self, site: Any) -> bool:
        raise NotImplementedError

    def assign(self, target: ast.expr, value: AV) -> None:
        raise NotImplementedError

    def run(self, stmts: Sequence[ast.stmt]) -> bool:
        raise NotImplementedError

    def closure(self, node: ast.FunctionDef | ast.Lambda) -> AV:
        raise NotImplementedError

    def live_number(self, container: Any, key: Any, name: str, spec: ScalarSpec) -> AV:
        raise NotImplementedError

    def split(self, av: AV, run: Callable[[AV], AV]) -> AV:
        raise NotImplementedError

    def present(self, av: AV, type: str, message: str) -> AV:
        raise NotImplementedError

    def negate(self, av: AV) -> AV:
        raise NotImplementedError

    def compare(self, op: str, a: AV, b: AV) -> AV:
        raise NotImplementedError

    def result_dtype(self, *operands: AV) -> str:
        raise NotImplementedError

    def with_numbers(self, name: str, args: Sequence[AV], kwargs: dict[str, AV]) -> tuple[Sequence[AV], dict[str, AV]]:
        raise NotImplementedError

    def complex_parts(self, av: AV) -> list[AV] | None:
        raise NotImplementedError

    def new_filled(self, size: Sequence[AV], number: AV, dtype: str) -> AV:
        raise NotImplementedError

    def compare_sequences(self, op: str, a: AV, b: AV) -> AV:
        raise NotImplementedError

    def identity(self, a: AV, b: AV, negate: bool) -> AV:
        raise NotImplementedError

    def raises_at_run_time(self, type: str, message: str) -> NoReturn:
        raise NotImplementedError

    def view_of(self, tensor: AV) -> Dyn:
        raise NotImplementedError

    def raise_with(self, type: str, message: AV) -> NoReturn:
        raise NotImplementedError

    def construct(self, cls: type, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        raise NotImplementedError

    def message_parts(self, made: ObjectV) -> list[AV]:
        raise NotImplementedError

    def is_exception(self, av: AV, classes: Sequence[type[BaseException]], *, exact: bool = False) -> AV:
        raise NotImplementedError

    def calls_itself(self, frame: Frame) -> bool:
        raise NotImplementedError

    def call_recursive(self, frame: Frame, body: Sequence[ast.stmt]) -> AV:
        raise NotImplementedError

    def source_of(self, func: FunctionType) -> Source:
        raise NotImplementedError

    def bind_arguments(self, frame: Frame, func: FunctionType, args: Sequence[AV], kwargs: dict[str, AV]) -> None:
        raise NotImplementedError

    def return_value(self, av: AV) -> None:
        raise NotImplementedError

    def leave_loop(self, way: str) -> None:
        raise NotImplementedError

    def spend(self, av: GeneratorV | ZipV | ReversedV | IteratorV) -> None:
        raise NotImplementedError

    def is_filtered(self, av: GeneratorV) -> bool:
        raise NotImplementedError

    def stages(self, av: GeneratorV) -> tuple[Callable[[AV], AV], Callable[[AV], AV]]:
        raise NotImplementedError

    def walk_generator(self, av: GeneratorV, site: Any) -> Walk:
        raise NotImplementedError

    def tuple_method(self, owner: Tup, name: str) -> AV | None:
        raise NotImplementedError

    def tuple_of(self, items: list[AV]) -> AV:
        raise NotImplementedError

    def class_attribute(self, obj: Any, cls: type, found: Any, name: str) -> AV:
        raise NotImplementedError

    def made_here(self, obj: Any) -> Known:
        raise NotImplementedError

    def special(self, owner: AV, name: str, args: Sequence[AV]) -> AV | None:
        raise NotImplementedError

    def to_float(self, v: Value) -> Value:
        raise NotImplementedError

    def bind_name(self, name: str, value: AV) -> None:
        raise NotImplementedError

    def python_class(self, av: AV) -> type:
        raise NotImplementedError

    def unrolled_walk(self, walk: Walk, site: Any) -> Walk:
        raise NotImplementedError

    def made_of(self, cls: Any, items: Sequence[AV]) -> AV:
        raise NotImplementedError

    def read_again(self, why: str) -> NoReturn:
        raise NotImplementedError

    def outdate(self, why: str) -> None:
        raise NotImplementedError

    def is_known(self, av: AV) -> bool:
        raise NotImplementedError

    def known(self, av: AV, what: str) -> Any:
        raise NotImplementedError

    def call_memoised(self, function: Any, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        raise NotImplementedError

    def knowable(self, value: Value) -> Value | None:
        raise NotImplementedError

    def make_known(self, value: Value, why: str) -> bool:
        raise NotImplementedError

    def prefer_known(self, av: AV, other: AV) -> None:
        raise NotImplementedError

    def is_slice(self, index: AV) -> bool:
        raise NotImplementedError

    def slice_bounds(self, index: AV) -> list[Any]:
        raise NotImplementedError

    def text_of(self, value: AV) -> AV:
        raise NotImplementedError

    def text_item(self, text: AV, index: AV) -> AV:
        raise NotImplementedError

    def character(self, text: Value, index: Value) -> AV:
        raise NotImplementedError

    # ---- containers at run time ----
    def any_length(self, av: AV, elem: Type = NEVER) -> Value:
        raise NotImplementedError

    def any_length_method(self, owner: ListV, name: str) -> AV:
        raise NotImplementedError

    def own_tuple_key(self, av: AV, items: Sequence[AV] | None, key: ListType) -> tuple[AV, AV | None]:
        raise NotImplementedError

    def as_key(self, av: AV, key: Type) -> tuple[AV, AV | None]:
        raise NotImplementedError

    def as_type(self, value: Value, wanted: Type) -> Value:
        raise NotImplementedError

    def is_run_time(self, av: AV) -> bool:
        raise NotImplementedError

    def has_free_keys(self, made: DictV, site: Any) -> bool:
        raise NotImplementedError

    def transposed(self, av: AV) -> AV:
        raise NotImplementedError

    def is_kind(self, av: OneOf, number: int) -> AV:
        raise NotImplementedError

    def same(self, a: AV, b: AV) -> AV:
        raise NotImplementedError

    def union_item(self, av: OneOf) -> Value:
        raise NotImplementedError

    def as_union(self, av: AV, wanted: TupleType) -> Value:
        raise NotImplementedError

    def allow_unions(self) -> None:
        raise NotImplementedError

    # ---- objects at run time ----
    def compared_fields(self, av: Any) -> list[AV]:
        raise NotImplementedError

    def promote_objects(self, avs: Iterable[AV]) -> None:
        raise NotImplementedError

    def refuse_value(self, av: ListV) -> NoReturn:
        raise NotImplementedError

    def promote_nested(self, avs: Iterable[AV]) -> None:
        raise NotImplementedError

    def as_record(self, made: ObjectV | DictV) -> AV:
        raise NotImplementedError

    def run_time_item(self, av: AV) -> Value:
        raise NotImplementedError

    def attribute_of_some(self, owner: ObjectV, name: str, held: Maybe) -> AV:
        raise NotImplementedError

    def fields_of(self, owner: RecordV | RecordDictV) -> dict[Any, AV]:
        raise NotImplementedError

    def set_field(self, owner: RecordV | RecordDictV, name: Any, value: AV) -> None:
        raise NotImplementedError

    def set_fields(self, owner: RecordV | RecordDictV, items: dict[Any, AV]) -> None:
        raise NotImplementedError

    def record_attribute(self, owner: RecordV, name: str) -> AV:
        raise NotImplementedError

    def same_record(self, a: AV, b: AV) -> AV | None:
        raise NotImplementedError

    def settle_changes(self) -> None:
        raise NotImplementedError

    def settle_lengths(self, av: KnownLengthListV, content: AV) -> None:
        raise NotImplementedError

    # ---- exceptions ----
    nested: int
    ahead: bool
    stack_left: StackLeft | None

    def exception_of(self, cls: type, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        raise NotImplementedError

    def exception_name(self, cls: type[BaseException]) -> str:
        raise NotImplementedError

    def base_init(self, made: AV) -> AV:
        raise NotImplementedError

    def caught_attribute(self, e: AV, name: str) -> AV:
        raise NotImplementedError

    def target(self, owner: Any, key: Any, path: tuple[Any, ...] | None, name: str) -> Any:
        raise NotImplementedError

    def set_target(self, target: Any, value: AV) -> None:
        raise NotImplementedError
