"""What all parts of the reader share: the builder, errors, guards, and turning abstract values into SSA values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from scriptc.frontend.assumptions import Assumptions, Outside, TableSite
from scriptc.frontend.cells import fresh, holds, is_laid_out_anew, is_storable, is_union, spelt, unite
from scriptc.frontend.frame import Frame, Site, Watch
from scriptc.frontend.operands import operands_of
from scriptc.frontend.parts import Parts
from scriptc.frontend.rejections import rejection
from scriptc.frontend.shapes import holds_function, sequence_items, shape_of
from scriptc.frontend.specs import Guard
from scriptc.frontend.values import (
    AV,
    RECORDS,
    Bound,
    Closure,
    ComplexV,
    Content,
    DictV,
    Dyn,
    GeneratorV,
    Ident,
    Kinds,
    Known,
    KnownLengthListV,
    KnownSet,
    ListV,
    Maybe,
    Moved,
    ObjectV,
    OneOf,
    PartialV,
    Poison,
    RangeV,
    RecordDictV,
    RecordV,
    ReversedV,
    SuperV,
    Tup,
    Unbound,
    ViewV,
    ZipV,
    describe,
    is_complex_number,
    is_function,
    is_plain_tuple,
    is_text,
    python_of,
)
from scriptc.ir.builder import Builder
from scriptc.ir.core import Attr, Block, Module, Op, Value
from scriptc.ir.dtypes import COMPLEX, complex_of
from scriptc.ir.errors import Diagnostic
from scriptc.ir.loc import Loc
from scriptc.ir.opdef import TypeRuleError
from scriptc.ir.ops import OPS
from scriptc.ir.types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NONE,
    DictType,
    Elem,
    JoinError,
    ListType,
    OptionalType,
    SetType,
    TensorType,
    TupleType,
    Type,
    cells,
    tuple_of,
)
from scriptc.ir.types import COMPLEX as COMPLEX_NUMBER

_CLASSES: dict[type[AV], str] = {
    GeneratorV: "generator", PartialV: "functools.partial", ReversedV: "list_reverseiterator", SuperV: "super",
}  # fmt: skip
NUMBERS: dict[type, Type] = {bool: BOOL, int: INT, float: FLOAT}


class UserError(Exception):
    """Something in the user's program cannot be compiled. Reported by the statement it stands in."""

    def __init__(self, node: ast.AST | Loc | None, message: str, hint: str | None = None):
        self.node = node
        self.message = message
        self.hint = hint
        super().__init__(message)


class Poisoned(Exception):
    """An operand comes from an expression in error: nothing further to say."""


class Terminated(Exception):
    """The statement being read always raises at run time: nothing after it is reached."""


class NeedsKnown(Exception):
    """A number that the program computes is needed at compile time. Loops and the entry may make it known."""

    def __init__(self, value: Value, error: UserError):
        self.value = value
        self.error = error
        super().__init__(error.message)


class Restart(Exception):
    """The function must be read again, under assumptions that were corrected."""


@dataclass
class Walk:
    """How a sequence is walked. `items`: known, one by one, of which those come whose index is below `limit`, where there
    is one. Else `count` bounds an index (None: the sequence is empty) and `item` gives the value at it. `length` asks anew
    for the number of items, where that of `lists` may change."""

    items: Iterable[AV] | None = None
    limit: Callable[[], AV] | None = None  # a number known only at run time
    count: tuple[AV, AV, AV] | None = None
    item: Callable[[AV], AV] | None = None
    length: Callable[[], AV] | None = None
    lists: Sequence[Value] = ()
    finish: Callable[[], None] | None = None  # what is asked when the sequence has ended


class Context(Parts):
    """State of one reading of an entry. The parts of the reader are mixins over it."""

    def __init__(self, module: Module, assumptions: Assumptions, default_dtype: str):
        self.module = module
        self.assume = assumptions
        self._default_dtype = default_dtype
        self.builder = Builder(Block())
        self.errors: list[Diagnostic] = []
        self.outside = Outside()
        self.frames: list[Frame] = []
        self.labels = 0
        self.node: ast.AST = ast.Pass()  # being read: where ops and errors are located
        self.names_of_params: dict[str, int] = {}
        self.graded: set[Value] | None = None  # within torch.no_grad(): what names held in front of it
        self.heap: dict[Ident, AV] = {}  # what objects, dicts and shared variables hold, where that has changed
        self.kinds = Kinds(assumptions.unions)
        self.poisoned = False  # some statement is in error, so `errors` says why
        self.counters: dict[Value, Any] = {}  # counters of loops with known bounds, and the loops' sites
        self.cells: list[tuple[Any, Elem]] = []  # element types of the lists made so far, by site
        self.changed: list[Elem] = []  # element types of lists that changed where nobody knows where they were made
        self.number_args: dict[Value, Any] = {}  # parameters that are numbers outside, as in Assumptions.changing
        self.arg_places: dict[Value, int] = {}  # parameters that can be made known, and their places in the signature
        self.watches: list[Watch] = []  # bodies of `try` around what is read
        self.functions: dict[Any, Any] = {}  # functions that call themselves, by their kinds of arguments
        self.named_functions = 0
        self.followed: dict[ast.AST, int] = {}  # calls of functions from within themselves that were followed
        self.decided: set[Any] = set()  # sites of `while` whose condition is known before the first iteration
        self.held_places: dict[type, Ident] = {}  # variables of what exceptions hold, by their classes
        self.held_names: dict[type, tuple[str, ...]] = {}  # and the names of that
        self.unseen: set[type] = set()  # of these, some are raised in functions that call themselves
        self.handling: list[AV] = []  # exceptions whose handlers are being read
        self.settling: set[Ident] = set()  # objects whose content is being looked up
        self.numpy_numbers: dict[int, AV] = {}  # what functions of NumPy gave, by id
        self.walked: list[AV] = []  # sequences of known length that the loops around what is read walk
        self.generators: list[int] = []  # generator expressions around what is read: how many `try` stand around each

    @property
    def default_dtype(self) -> str:
        """torch.get_default_dtype(); what is built from it is guarded."""
        self.guard("DEFAULT_DTYPE_IS", None, None, self._default_dtype)
        return self._default_dtype

    @property
    def default_complex(self) -> str:
        """The dtype of complex numbers in a new tensor."""
        return complex_of(self.default_dtype)

    # ---- objects and dicts ----
    def items_of(self, av: DictV | ObjectV | KnownLengthListV) -> dict[Any, AV]:
        """What an object, dict or list of known length holds now."""
        if isinstance(av, RECORDS):
            return self.fields_of(av)
        content = self.heap.get(av.ident)
        if content is not None and not isinstance(content, Content):
            self.promote(av)
        if isinstance(content, Poison):
            raise Poisoned
        if isinstance(content, (OneOf, Maybe, Moved)):
            self.promote_objects([content, av])
        if isinstance(content, (OneOf, Maybe)) and isinstance(av, KnownLengthListV):
            self.settle_lengths(av, content)
            self.allow_unions()
            if holds_function(content):
                self.fail("functions_in_list")
            self.fail("list_of_other_length", why=self.assume.why_known_length.get(av.site, "its items differ in kind"))
        if isinstance(content, (OneOf, Maybe)):
            self.fail("other_keys_on_a_path", what=describe(av))
        if isinstance(content, Moved):
            self.fail("same_object_on_a_path", what=describe(av))
        made = av.first if isinstance(av, KnownLengthListV) else av.items
        return content.items if isinstance(content, Content) else made

    def promote(self, av: AV) -> None:
        """From the next reading on, a dict or set has run-time keys; returns where it cannot."""
        if isinstance(av, DictV) and av.home is not None and self.assume.take_tables():
            self.read_again("a dict of the caller has keys that are known only at run time")
        sites = set(av.sites) if isinstance(av, (DictV, KnownSet)) else set()
        if not sites <= self.assume.tables and not sites & self.assume.untabled.keys():
            self.assume.tables |= sites
            self.read_again(f"{describe(av)} has keys that are known only at run time")

    def set_items(self, av: DictV | ObjectV | KnownLengthListV, items: dict[Any, AV]) -> None:
        if isinstance(av, RECORDS):
            self.set_fields(av, items)
            return
        old = self.items_of(av)
        first, cls = av.first if isinstance(av, KnownLengthListV) else av.items, getattr(av, "cls", None)
        self.heap[av.ident] = Content(items, first, cls)
        self.items_changed(av, old, items)
        self.note_change(av.ident)

    def edit(self, av: KnownLengthListV, change: Callable[[list[AV]], Any]) -> Any:
        """Changes a list of known length as `change` changes its items; the value is what that returns."""
        items = av.items
        try:
            result = change(items)
        except (IndexError, ValueError) as e:
            self.raises_at_run_time(type(e).__name__, str(e))
        self.set_items(av, dict(enumerate(items)))
        return result

    # ---- what exceptions find ----
    def note_change(self, key: str | Ident) -> None:
        """A name of the function being read, or an object, has changed: a `try` around must know."""
        for watch in self.watches:
            moved = {name: cell for name, cell in watch.frame.cells.items() if cell.serial > watch.mark}
            changed = next((name for name, cell in moved.items() if cell is key), key)
            if isinstance(changed, Ident) or (watch.frame is self.frame and changed in watch.names):
                place = self.effect("cell.set", ())  # what it writes is known when the body has been read
                held = {name: self.heap[cell] for name, cell in moved.items() if cell in self.heap}
                watch.sites.append(Site(place, changed, {**watch.frame.locals, **held, **self.heap}))

    def leavings(self) -> list[list[Any]]:
        """The lists in which statements around note who leaves them and what changes in them."""
        finals = [final for frame in self.frames for final in frame.finals]
        exits = [noted for final in finals for _, noted in final.ways.values()]
        return [*(f.returns for f in self.frames), *exits, *(w.sites for w in self.watches)]

    # ---- places and errors ----
    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    @property
    def loc(self) -> Loc:
        return self.frame.source.loc(self.node, self.frame.inlined_at)

    def loc_of(self, node: ast.AST | Loc | None) -> Loc:
        if isinstance(node, Loc):
            return node
        return self.loc if node is None else self.frame.source.loc(node, self.frame.inlined_at)

    def fetched(self, list_value: Value, index: Value) -> AV:
        raise NotImplementedError

    def fail(self, key: str, /, **details: object) -> NoReturn:
        """Refuses what is being read, by a row of `frontend.rejections`."""
        raise UserError(self.loc, *rejection(key, **details))

    def report(self, error: UserError) -> None:
        found = Diagnostic(self.loc_of(error.node), error.message, error.hint)
        if found not in self.errors:  # a `finally` is read once for each way through it
            self.errors.append(found)

    def fresh_label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    # ---- building ----
    def build(self, name: str, operands: Sequence[Value], /, hint: str = "", **attrs: Attr) -> Value:
        """Builds an op here; a type rule that refuses becomes what eager raises, at run time."""
        return self.built(name, operands, hint, **attrs).result

    def built(self, name: str, operands: Sequence[Value], /, hint: str = "", **attrs: Attr) -> Op:
        """The same of an op of any number of results."""
        dtypes = [v.type.dtype for v in operands if isinstance(v.type, TensorType)]
        if not OPS[name].takes_complex and any(dtype in COMPLEX for dtype in dtypes):
            self.fail("complex_kernel", name=name)
        if "ELEMENTWISE" not in OPS[name].traits and any(v.type == COMPLEX_NUMBER for v in operands):
            self.fail("complex_number")
        try:
            return self.builder.op(name, operands, self.loc, names=[hint] if hint else [], **attrs)
        except TypeRuleError as e:
            types = [t for v in operands for t in (v.type, *(c.find().type for c in cells(v.type)))]
            if any(is_union(t) or isinstance(t, OptionalType) for t in types):
                self.fail("container_of_several_used", why=e)
            self.raises_at_run_time("RuntimeError", str(e))

    def effect(self, name: str, operands: Sequence[Value], /, **attrs: Attr) -> Op:
        """Builds an op without results."""
        return self.builder.op(name, operands, self.loc, **attrs)

    def raises_at_run_time(self, type: str, message: str) -> NoReturn:
        """The statement cannot succeed, and eager would say so only when it gets here."""
        if type == "StopIteration" and self.leaves_generator:
            type, message = "RuntimeError", "generator raised StopIteration"
        self.effect("raise", (), type=type, message=message)
        raise Terminated

    @property
    def leaves_generator(self) -> bool:
        """Whether an exception leaves a generator expression before a `try` can catch it."""
        return bool(self.generators) and self.generators[-1] == len(self.watches)

    def const(self, value: Attr) -> Value:
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            self.fail("int_of_more_than_64_bits")
        return self.builder.const(value, self.loc)

    def op(self, name: str, /, *operands: AV, hint: str = "", **attrs: Attr) -> Dyn:
        """An op over abstract values, numbers or tensors."""
        return Dyn(self.build(name, [self.value(a) for a in operands_of(self, OPS[name], operands)], hint, **attrs))

    # ---- abstract values to SSA ----
    def value(self, av: AV) -> Value:
        """The SSA value of a number, tensor, list or None."""
        match av:
            case Dyn(value) | RecordV(value=value) | RecordDictV(value=value):
                return value
            case Known(obj) if type(obj) in NUMBERS or obj is None:
                return self.const(obj)
            case Known(str() as text):
                return self.const(str.__str__(text))  # of an enum that is a string, its value
            case Known(obj) if isinstance(obj, int):  # IntEnum and other subclasses
                return self.const(int(obj))
            case ComplexV() | Known(complex()):
                shape = shape_of(av)
                assert shape is not None
                return self.build("complex.make", [self.value(part) for part in shape.parts])
            case Tup(items):
                return self.builder.build("tuple", [self.value(i) for i in items], self.loc)
            case DictV() | KnownSet():
                self.promote(av)
            case ListV(value):
                if value is None:
                    self.refuse_value(av)
                return value
            case Poison():
                raise Poisoned
            case OneOf() if is_text(av):
                return self.value(self.split(av, lambda a: Dyn(self.value(a))))
            case OneOf(alternatives=alternatives):
                if Kinds.NONE in alternatives:
                    return self.value(self.present(av, "TypeError", "None is not supported here"))
                self.fail("one_of_several_used", what=describe(av))
            case Maybe() | Unbound():
                raise AssertionError(av)  # tested where they are read
        self.fail("function_as_value" if is_function(av) else "no_run_time_value", who="this", what=describe(av))

    def list_item(self, av: AV) -> Value:
        """The SSA value of something that goes into a container."""
        if isinstance(av, OneOf) and Kinds.NONE in av.alternatives and len(av.alternatives) == 2:
            return self.optional(av)
        if isinstance(av, OneOf) and is_plain_tuple(av):
            return self.any_length(av)
        if is_complex_number(av):
            self.fail("container_of_complex")
        if isinstance(av, OneOf) and not is_text(av):
            return self.union_item(av)
        items = sequence_items(av)
        if isinstance(av, Known) and isinstance(av.obj, int) and type(av.obj) not in NUMBERS:
            self.fail("no_run_time_value", what=describe(av))  # an IntEnum is more than its number
        if items is None:
            return self.value(av)
        if not items and is_plain_tuple(av):
            return self.any_length(av)
        cls = av.cls if isinstance(av, Tup) else type(av.obj) if isinstance(av, Known) else tuple
        values = [self.list_item(i) for i in items]
        made = TupleType(tuple(v.type for v in values), None if cls is tuple else cls)
        return self.builder.op("tuple", values, self.loc, types=[made]).result

    def optional(self, av: OneOf) -> Value:
        """None or a value of one type, as one value."""
        (held,) = (a for tag, a in av.alternatives.items() if tag != Kinds.NONE)
        is_none = self.build("int.eq", [av.tag, self.const(Kinds.NONE)])
        with self.builder.at(Block()) as absent:
            self.effect("yield", [self.const(None)])
        with self.builder.at(Block()) as present:
            value = self.list_item(held)
            self.effect("yield", [value])
        return self.builder.op("if", [is_none], self.loc, regions=[absent, present], types=[OptionalType(value.type)]).result

    def stored(self, target: ListV, item: AV) -> Value:
        """The SSA value of an item that goes into a list; one that has none makes it a list of known length."""
        try:
            return self.list_item(item)
        except UserError as e:
            if self.sites_of(target) & self.assume.run_time_lists:
                self.promote_objects([item])
            self.keep_length(target, e)

    def type_of(self, av: AV) -> Type | None:
        """The type of a number or tensor, without building anything; None for all else."""
        match av:
            case Dyn():
                return av.type
            case ComplexV() | Known(complex()):
                return COMPLEX_NUMBER
            case Known(obj):
                return next((t for c, t in NUMBERS.items() if isinstance(obj, c)), None)
        return None

    def sizes(self, items: Sequence[AV]) -> Value:
        """A tuple of i64 values."""
        return self.builder.build("tuple", [self.integer(i) for i in items], self.loc)

    def integer(self, av: AV) -> Value:
        """The i64 value of an index or size; one-element integer tensors count, as for eager."""
        if isinstance(av, OneOf):
            av = self.split(av, lambda a: Dyn(self.integer(a)))
        value = self.value(av)
        if value.type == INT:
            return value
        if value.type == BOOL:
            return self.build("bool.to_int", [value])
        if isinstance(value.type, TensorType):
            return self.value(self.place_of(Dyn(value)))
        self.raises_at_run_time("TypeError", f"'{self.type_name(av)}' object cannot be interpreted as an integer")

    def type_name(self, av: AV) -> str:
        """The name of the Python class, for messages."""
        match av:
            case Known(obj):
                return type(obj).__name__
            case Dyn():
                if isinstance(av.type, (DictType, SetType)):
                    return python_of(av.type).__name__
                return {"i64": "int", "f64": "float", "bool": "bool", "str": "str"}.get(str(av.type), "Tensor")
            case Tup():
                return av.cls.__name__
            case ComplexV():
                return "complex"
            case ListV():
                return "tuple" if av.is_tuple else "list"
            case DictV():
                return av.made.cls.__name__
            case ViewV():
                return f"dict_{av.part}"
            case RangeV():
                return "range"
            case ObjectV():
                return av.cls.__name__
            case Closure() | Bound():
                return "function"
            case ZipV(offset=offset):
                return "zip" if offset is None else "enumerate"
            case KnownSet():
                return "set"
            case OneOf():
                self.fail("one_of_several_used", what=describe(av))
        return _CLASSES.get(type(av), type(av).__name__)

    def refuse_item_sets(self, *avs: AV) -> None:
        """Refuses sets of which nobody knows how many of their items are equal."""
        if any(isinstance(av, Tup) and av.cls is set for av in avs):
            self.fail("set_of_items")

    # ---- lists whose content or element type is being found ----
    def observe(self, av: ListV) -> None:
        """Something is decided by the known items of a list: if the list changes later, this reading was wrong."""
        av.observed = True

    def mutate(self, av: ListV) -> Value:
        """The run-time list, which is about to change."""
        assert not av.is_tuple
        if av.value is None:
            self.keep_length(av, UserError(self.loc, *rejection("list_changes_without_type")))
        if av.items is not None or av.observed:
            if av.site is not None and (av.observed or av.site not in self.assume.mutated):
                self.assume.mutated.add(av.site)
                if av.observed:
                    self.read_again("a list is changed whose items were taken as known")
            av.items = None
        if av.site is None and isinstance(av.value.type, ListType):
            self.changed.append(av.value.type.cell)
            self.settle_changes()
        return av.value

    def keep_length(self, av: ListV, error: UserError) -> NoReturn:
        """Another reading takes the list for one whose length is known throughout; an error where that is no help."""
        cell = av.value.type.cell.find() if av.value is not None and isinstance(av.value.type, ListType) else None
        self.keep_sites(self.sites_of(av), cell, error)

    def sites_of(self, av: ListV) -> set[Any]:
        """The sites of the program at which a list may have been made."""
        cell = av.value.type.cell.find() if av.value is not None and isinstance(av.value.type, ListType) else None
        return {site for site, made in self.cells if cell is not None and made.find() is cell} | {av.site}

    def new_list(self, items: Sequence[AV], site: Any) -> ListV:
        """A list display at a site of the program."""
        if site in self.assume.known_length:
            return KnownLengthListV(dict(enumerate(items)), self, site=site)
        elem = fresh(self.assume.elements.get(site, NEVER))
        value: Value | None = None
        try:
            values = [self.list_item(i) for i in items]
            for v in values:
                elem = unite(elem, v.type, unions=self.assume.unions)
            if not is_storable(elem):
                raise JoinError(str(elem))
            values = [self.as_type(v, elem) for v in values]
            value = self.builder.build("list.new", values, self.loc)
            assert isinstance(value.type, ListType)
            cell = value.type.cell.find()
            cell.type, cell.fixed = elem, False
            self.cells.append((site, cell))
        except (JoinError, UserError):
            if site in self.assume.mutated:
                self.keep_sites({site}, None, UserError(self.loc, *rejection("list_changes_without_type")))
        return ListV(value, None if site in self.assume.mutated else list(items), site)

    def widen(self, container: Type, part: int, item: Type) -> None:
        """A value of a type goes into a container: among its keys or items, by their place in `cells`."""
        cell = cells(container)[part].find()
        name = str(container).partition("<")[0]
        what, new, is_key = f"a {spelt(container)}", spelt(item), part == 0 and not isinstance(container, ListType)
        if not is_storable(item):
            self.refuse(cell, "container_of_unstorable", container=name, item=new)
        if holds(item, cell):
            self.refuse(cell, "container_in_itself", container=name)
        try:
            unions = self.assume.unions and not cell.fixed and not is_key
            joined = unite(cell.type, item, unions=unions)
            if isinstance(joined, TensorType) and joined.dims is None:
                raise JoinError("ranks")
        except JoinError:
            if cell.fixed:
                self.refuse_fixed(container, new)
            self.refuse(cell, "container_of_kinds", what=what, item=new, container=name)
        if joined == cell.type:
            return
        sites = [site for site, made in self.cells if made.find() is cell]
        laid_out_anew = is_laid_out_anew(cell.type, joined)
        fits = cell.type in (NEVER, NONE, tuple_of(NEVER)) or joined == OptionalType(cell.type)
        fits = not is_union(joined) and (fits or laid_out_anew)
        if cell.fixed and sites and fits:
            self.assume.elements |= dict.fromkeys(sites, joined)  # what the caller gives fits this as well
            self.read_again(f"{what} of the caller holds {new} as well")
        if cell.fixed:
            self.refuse_fixed(container, new)
        cell.type = joined
        for site in sites:
            self.assume.elements[site] = joined
        if laid_out_anew and not sites:
            self.fail("container_of_lengths", what=what, item=new)
        if cell.observed or laid_out_anew:
            self.read_again(f"{what} holds {new} as well, after something was computed from its items")

    def refuse_fixed(self, container: Type, item: str) -> NoReturn:
        """A container of the caller cannot hold something: a short list may do when it is taken by its items."""
        if isinstance(container, ListType) and not self.assume.parted:
            self.assume.parted = True
            self.read_again(f"{spelt(container)} of the caller holds {item} as well")
        name = str(container).partition("<")[0]
        self.fail("argument_list_of_other", what=spelt(container), item=item, name=name)

    def refuse(self, cell: Elem, key: str, /, **details: object) -> NoReturn:
        """A container cannot hold something: a list may do as one of known length, a dict as one with known keys."""
        error = UserError(self.loc, *rejection(key, **details))
        sites = {site for site, made in self.cells if made.find() is cell}
        for site in sites:
            if isinstance(site, TableSite) and self.assume.refuse_table(site.table, error.message):
                self.read_again(f"the keys of a dict or set must be known: {error.message}")
        self.keep_sites({site for site in sites if not isinstance(site, TableSite)}, cell, error)

    def keep_sites(self, sites: set[Any], cell: Elem | None, error: UserError) -> NoReturn:
        sites -= {None, *self.assume.known_length, *self.assume.run_time_lists}
        if not sites or (cell is not None and cell.fixed):
            if cell is None or not cell.fixed:
                self.allow_unions()
            raise error
        self.assume.known_length |= sites
        self.assume.why_known_length |= dict.fromkeys(sites, error.message)
        self.read_again(f"the length of a list must be known: {error.message}")

    # ---- the world outside ----
    def guard(self, kind: str, container: Any, key: Any, expected: Any) -> None:
        if id(container) in self.outside.made:
            return
        self.outside.guards.setdefault((kind, id(container), key), Guard(kind, container, key, expected))
        self.outside.keep.append(container)


Handler = Callable[..., AV]
