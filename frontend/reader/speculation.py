"""Speculation: the assumptions of a reading, and every reason to read the function again.

A reading is based on `Assumptions`, which earlier readings corrected. Each reason to read again is a method of
`Speculation`. The method corrects the assumptions, notes the reason in words, and ends the reading. Its docstring has
three parts: the assumption of the reading, the fact that refuted it, and the assumption of the next reading. No other
module changes the assumptions.

Three reasons do not end the reading: `add_slot`, `change_outside` and `add_kinds`. Such a reading is outdated. It goes
on, so that a single further reading corrects all locations that the code changes, and is dropped at its end. The
statement that outdated the reading has no effect on the rest of it, as if the statement were not in the program. The
rest is a program like any other: an exception is a fault of scriptc, and errors of the user are dropped with the
reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from scriptc.frontend.reader.assumptions import ArgumentPart, Assumptions, Reason, StateLocation, TableSite, text_of
from scriptc.frontend.reader.diagnostics import Diagnostics
from scriptc.frontend.reader.errors import Restart, UserError
from scriptc.frontend.reader.position import Position
from scriptc.frontend.reader.refinements import note_new_length, sites_of_new_lengths
from scriptc.frontend.values.abstract import (
    AbstractValue,
    Content,
    DictValue,
    KnownLengthListValue,
    KnownSet,
    ListValue,
)
from scriptc.frontend.values.element_types import (
    fresh,
    holds,
    is_laid_out_anew,
    is_storable,
    is_union,
    mentions,
    spelt,
    unite,
)
from scriptc.frontend.values.predicates import has_alternatives, has_known_keys, has_known_length
from scriptc.frontend.values.verbs import describe
from scriptc.ir.core import Value
from scriptc.ir.loc import Loc
from scriptc.ir.types import (
    NEVER,
    NONE,
    DictType,
    JoinError,
    ListType,
    Names,
    ObjectType,
    OptionalType,
    Record,
    TensorType,
    Type,
    TypeVariable,
    tuple_of,
    type_variables,
)

_SPLIT = 16  # the most calls and `if`s that are split


class Speculation:
    """Keep the facts that one reading finds about its assumptions."""

    def __init__(self, assumptions: Assumptions, position: Position, diagnostics: Diagnostics) -> None:
        self.assumptions = assumptions
        self.position = position
        self.diagnostics = diagnostics
        self.outdated = False  # the reading is dropped when it ends
        self.type_variables: list[tuple[Any, TypeVariable]] = []  # element types of the lists made so far, by site
        self.changed: list[TypeVariable] = []  # element types of changed lists whose site is not known
        self.counters: dict[Value, Any] = {}  # counters of loops with known bounds, and the loops' sites
        self.bounds: dict[Value, list[Value]] = {}  # counters of loops, and what their loops begin, end and step with
        self.found_items = False  # a list of any length got a known string, a dict or an object, or paths gave a dict keys
        self.decided: set[Any] = set()  # sites of `while` loops whose condition is known before the first iteration
        self.number_args: dict[Value, Any] = {}  # numbers outside: their keys in Assumptions.changing
        self.arg_places: dict[Value, int] = {}  # parameters that can be made known: their numbers in the signature
        self.size_places: dict[str, ArgumentPart] = {}  # symbols of sizes of arguments
        self.places = 0  # the number of ints and floats among the arguments so far

    def _outdate(self, name: str, why: str) -> None:
        """Note a reason to read again. name: the method that gives the reason. why: a clause for people."""
        self.assumptions.reasons.append(Reason(name, why, self.position.loc if self.position.frames else None))
        self.assumptions.outgrown |= sites_of_new_lengths(self.type_variables)
        self.outdated = True

    def _read_again(self, name: str, why: str) -> NoReturn:
        """End this reading. The next one is based on the present assumptions."""
        self._outdate(name, why)
        raise Restart

    # ---- at the end of a reading ----

    def settle(self) -> None:
        """End an outdated reading, and a reading whose lists refuted its assumptions."""
        if self.outdated:
            raise Restart
        self.settle_element_types()
        self.settle_changes()

    def settle_element_types(self) -> None:
        """Read again if containers turned out to be one, after code was built for their element types or lengths.

        Assumed: two containers are apart, so that each has an element type, a length and kinds of items of its own.
        Refuted: the containers turned out to be one, or others came, after code was built for what one of them held.
        Next: both begin with the united type, and with any length, and all kinds under a key.
        """
        outgrown = [(site, made.find()) for site, made in self.type_variables if made.find().outgrown]
        wider = {(site, key): kinds for site, made in outgrown for key, kinds in (made.key_kinds or {}).items()}
        sites = {site for site, made in outgrown if made.key_kinds is None}
        if not sites <= self.assumptions.outgrown or not wider.items() <= self.assumptions.key_kinds.items():
            self.assumptions.outgrown |= sites
            self.assumptions.key_kinds |= wider
            why = "a list gets another length, or a key another kind of items, after the first ones were used"
            self._read_again("settle_element_types", why)
        if not any(variable.find().stale for _, variable in self.type_variables):
            return
        found: dict[Any, Type] = {}
        for site, variable in self.type_variables:  # all, since a stale type may be nested in another
            if variable.find().stale or site in self.assumptions.elements:
                made = fresh(variable.find().type)  # a loop body that is read twice makes two lists at one site
                found[site] = unite(found[site], made) if site in found else made
        self.assumptions.elements |= found
        why = "lists, dicts or sets turned out to be one, after their types were used"
        self._read_again("settle_element_types", why)

    def settle_changes(self) -> None:
        """Read again if a list may have changed by another name.

        Assumed: a list that is not changed by its own name keeps the items that it was made with.
        Refuted: a list changes whose site is not known, and its items share their type with those of the first list.
        Next: all lists whose items share that type are taken to change.
        """
        changed = {id(variable.find()) for variable in self.changed}
        sites = {site for site, made in self.type_variables if id(made.find()) in changed}
        sites = {site for site in sites if not isinstance(site, TableSite)}
        if not sites <= self.assumptions.mutated:
            self.assumptions.mutated |= sites
            self._read_again("settle_changes", "a list is changed by another name, after its items were taken as known")

    # ---- numbers, loops and functions ----

    def unroll(self, site: Any, why: str) -> None:
        """Unroll a loop; return where the loop is unrolled already.

        Assumed: an iteration can be read without its number.
        Refuted: the body needs the number at compile time, or no type holds what iterations hand on (`why`).
        Next: each iteration of the loop is read by itself.
        """
        if site not in self.assumptions.unrolled:
            self.assumptions.unrolled.add(site)
            self.assumptions.unrolled_text.add(text_of(site))
            self._read_again("unroll", why)

    def split(self, site: Any, why: str) -> None:
        """Read a call for each rank of its arguments, or the code behind an `if` for each path; return if it is so already.

        Assumed: no number of the call depends on a rank; the values that the paths of the `if` leave can be joined.
        Refuted: such a number must be known at compile time, or values cannot be joined (`why`).
        Next: the paths of the call, or of the block behind the `if`, are read apart.
        """
        if site not in self.assumptions.split and len(self.assumptions.split) < _SPLIT:
            self.assumptions.split.add(site)
            self._read_again("split", why)

    def specialize(self, parts: set[ArgumentPart], why: str) -> None:
        """Specialize on parts of the arguments; return where that is done already.

        Assumed: one variant serves all values of the parts.
        Refuted: a value, or what is computed from it, is needed at compile time (`why`).
        Next: the parts are known, under a guard.
        """
        if not parts <= self.assumptions.known_args:
            self.assumptions.known_args |= parts
            self._read_again("specialize", why)

    def bake_in(self, at: Any, why: str) -> None:
        """Bake in a number outside, given by (id of its container, key); return where that is done already.

        Assumed: the number is read at each call, because it changed between calls.
        Refuted: the value is needed at compile time (`why`).
        Next: the number is known, under a guard.
        """
        if at in self.assumptions.changing:
            self.assumptions.changing.discard(at)
            self._read_again("bake_in", why)

    def walk_growing(self, site: Any) -> None:
        """Read the length of a list before each iteration of the loop over it.

        Assumed: the loop does not change the length of the list that it walks.
        Refuted: the body has an op that does.
        Next: the loop asks for the length before each iteration.
        """
        self.assumptions.growing.add(site)
        self._read_again("walk_growing", "a loop changes the length of what it walks")

    def make_recursive(self, function: Any) -> None:
        """Compile a function to a function of the IR. function: its node.

        Assumed: the calls that the function makes of itself can be followed, because their known arguments come to an end.
        Refuted: there are too many of them.
        Next: each call of the function is a call at run time.
        """
        self.assumptions.recursive.add(function)
        self._read_again("make_recursive", "a function calls itself more often than can be followed")

    def keep_tries(self, sites: set[Any]) -> NoReturn:
        """Keep tries whose handlers only change objects of the compiler, and raise the exception again.

        Assumed: no handler around them sees the changes.
        Refuted: there is a handler around them that goes on.
        Next: the handlers are kept.
        """
        self.assumptions.tries |= sites
        self._read_again("keep_tries", "a handler sees what an inner handler changes")

    # ---- lists ----

    def mutate(self, av: ListValue, *, resizes: bool = False) -> Value:
        """Return the run-time list that is about to change. resizes: its length may change.

        Assumed: the items of the list are those that it was made with.
        Refuted: the list changes after the reading used an item.
        Next: the items are known only at run time.
        """
        assert not av.is_tuple
        if av.value is None:
            keep_length(self, av, self.diagnostics.error("list_changes_without_type"))
        if resizes:
            note_new_length(av.value)
        if av.items is not None or av.observed:
            if av.site is not None and (av.observed or av.site not in self.assumptions.mutated):
                self.assumptions.mutated.add(av.site)
                if av.observed:
                    self._read_again("mutate", "a list is changed whose items were taken as known")
            av.items = None
        if av.site is None and isinstance(av.value.type, ListType):
            self.changed.append(av.value.type.variable)
            self.settle_changes()
        return av.value

    def keep_sites(self, sites: set[Any], variable: TypeVariable | None, error: UserError) -> NoReturn:
        """Keep the items of the lists made at some sites one by one in the next reading; raise `error` where that is no help.

        variable: the element type of the lists.
        """
        sites -= {None, *self.assumptions.known_length, *self.assumptions.run_time_lists}
        if not sites or (variable is not None and variable.fixed):
            if variable is None or not variable.fixed:
                self.allow_unions()
            raise error
        self.keep_items(sites, error.message)

    def keep_new_list(self, site: Any, why: str) -> bool:
        """Keep the items of a list that is made now at a site one by one; return whether the list may be kept so."""
        if site is None or site in self.assumptions.run_time_lists:
            return False
        self.assumptions.known_length.add(site)
        self.assumptions.why_known_length[site] = why
        return True

    def keep_items(self, sites: set[Any], why: str) -> NoReturn:
        """Keep the items of the lists made at some sites one by one.

        Assumed: the lists have any length, and items of one type.
        Refuted: no type holds all items, or the number of items is needed at compile time (`why`).
        Next: each list is taken apart, so that its length is known throughout.
        """
        self.assumptions.known_length |= sites
        self.assumptions.why_known_length |= dict.fromkeys(sites, why)
        if self.assumptions.keeps_items:  # keys may come from these lists
            tried = self.assumptions.tables - self.assumptions.tabled_again
            self.assumptions.tables -= tried
            self.assumptions.tabled_again |= tried
        self._read_again("keep_items", f"the length of a list must be known: {why}")

    def forget_length(self, site: Any, why: str = "goes into a container or an object") -> None:
        """Let the list made at a site have any length; return where its items are not kept one by one.

        Assumed: the length of the list is known throughout.
        Refuted: the list goes into a container or an object, or the result holds it twice (`why`).
        Next: the list exists at run time, and so do the objects and dicts in it.
        """
        if site in self.assumptions.known_length:
            self.assumptions.run_time_lists.add(site)
            self.assumptions.known_length.discard(site)
            self._read_again("forget_length", f"a list {why}, so that its length is not known")

    def settle_lengths(self, av: KnownLengthListValue, content: AbstractValue) -> None:
        """Let the lists in a list have any length; return where there are none, or none but itself.

        Assumed: the lengths of the list and of those in it are known throughout.
        Refuted: paths meet on which the outer list has several lengths.
        Next: all of them exist at run time, and so do the objects and dicts in the inner lists.
        """
        held = content.alternatives.values() if has_alternatives(content) else ()
        items = [item for part in held if isinstance(part, Content) for item in part.items.values()]
        inner = {item.site for item in items if has_known_length(item)} & self.assumptions.known_length
        if inner - {av.site}:
            self.assumptions.run_time_lists |= inner
            self.assumptions.known_length -= inner | {av.site}
            self._read_again("settle_lengths", "lists inside a list have several lengths")

    def allow_unions(self) -> None:
        """Allow values of several kinds in containers; return where they are allowed already.

        Assumed: the items of a container have one type, or are kept one by one.
        Refuted: neither is possible.
        Next: an item may be of several kinds, told apart at run time.
        """
        if not self.assumptions.unions:
            self.assumptions.unions = True
            self.assumptions.known_length.clear()
            self._read_again("allow_unions", "a container holds values of several kinds")

    # ---- element types ----

    def widen(self, container: Type, part: int, item: Type) -> None:
        """Let a container hold values of a type, among its keys or items. part: an index into `type_variables`.

        Assumed: the container holds what it was seen to hold so far.
        Refuted: other values go into it, after something was computed from what it held, or where the caller made it.
        Next: the container begins with the type of all these.
        """
        variable = type_variables(container)[part].find()
        name = str(container).partition("<")[0]
        what, new, is_key = f"a {spelt(container)}", spelt(item), part == 0 and not isinstance(container, ListType)
        if not is_storable(item):
            self.refuse(variable, "container_of_unstorable", container=name, item=new)
        if holds(item, variable):
            self.refuse(variable, "container_in_itself", container=name)
        try:
            unions = self.assumptions.unions and not variable.fixed and not is_key
            joined = unite(variable.type, item, unions=unions)
            if isinstance(joined, TensorType) and joined.dims is None:
                raise JoinError("ranks")
        except JoinError:
            if variable.fixed:
                self.take_apart(container, new)
            self.refuse(variable, "container_of_kinds", what=what, item=new, container=name)
        if joined == variable.type:
            return
        sites = [site for site, made in self.type_variables if made.find() is variable]
        laid_out_anew = is_laid_out_anew(variable.type, joined)
        fits = variable.type in (NEVER, NONE, tuple_of(NEVER)) or joined == OptionalType(variable.type)
        fits = not is_union(joined) and (fits or laid_out_anew)
        if variable.fixed and sites and fits:
            self.assumptions.elements |= dict.fromkeys(sites, joined)  # the caller's items fit this type too
            self._read_again("widen", f"{what} of the caller holds {new} as well")
        if variable.fixed:
            self.take_apart(container, new)
        variable.type = joined
        for site in sites:
            self.assumptions.elements[site] = joined
        if laid_out_anew and not sites:
            self.diagnostics.reject("container_of_lengths", what=what, item=new)
        if variable.observed or laid_out_anew:
            self._read_again("widen", f"{what} holds {new} as well, after something was computed from its items")

    def widen_field(self, record: Record, index: int, joined: Type) -> None:
        """Let the field of a record hold values of a wider type.

        Assumed: the field holds what it was seen to hold so far.
        Refuted: other values go into it, after something was computed from what it held.
        Next: the field begins with the type of all these.
        """
        variable, name = record.fields[index].find(), record.names[index]
        anew = variable.observed or is_laid_out_anew(variable.type, joined)
        variable.type = self.assumptions.elements["field", record.name, name] = joined
        if anew:
            self._read_again("widen_field", f"the attribute '{name}' of a {record.name} is {spelt(joined)}")

    def unite_lists(self, united: ListType) -> None:
        """Give lists that may be one the same element type from the beginning.

        Assumed: the lists are apart, so that the items of each have a type of their own.
        Refuted: a recursive function takes one as well as the other, after ops were typed by what one of them held.
        Next: all begin with the united type.
        """
        for site, variable in self.type_variables:
            if variable.find() is united.variable.find():
                self.assumptions.elements[site] = united.elem
        self._read_again("unite_lists", "two lists may be one, after the types of their items were used")

    def take_apart(self, container: Type, item: str) -> NoReturn:
        """Take lists of the caller by their items, so that one may hold `item`; refuse that where this is no help.

        Assumed: a list of the caller has any length, and items of one type.
        Refuted: a value of another type goes into it.
        Next: short lists of the caller are taken apart.
        """
        if isinstance(container, ListType) and not self.assumptions.parted:
            self.assumptions.parted = True
            self._read_again("take_apart", f"{spelt(container)} of the caller holds {item} as well")
        name = str(container).partition("<")[0]
        self.diagnostics.reject("argument_list_of_other", what=spelt(container), item=item, name=name)

    def refuse(self, variable: TypeVariable, key: str, /, **details: object) -> NoReturn:
        """Reject a value for a container. First try a list of known length, or a dict with known keys."""
        error = self.diagnostics.error(key, **details)
        sites = {site for site, made in self.type_variables if made.find() is variable}
        for site in sites:
            if isinstance(site, TableSite):
                self.fix_keys(site.table, error.message)
        self.keep_sites({site for site in sites if not isinstance(site, TableSite)}, variable, error)

    # ---- dicts, sets and objects ----

    def promote(self, av: AbstractValue) -> None:
        """Give a dict or set run-time keys; return where it cannot have them.

        Assumed: the keys are known.
        Refuted: a key is known only at run time, or paths meet on which the keys differ.
        Next: the dict or set exists at run time; of the caller's dicts, all that have strings as keys.
        """
        if has_known_keys(av) and av.home is not None and not self.assumptions.tabled:
            self.assumptions.tabled = True
            self._read_again("promote", "a dict of the caller has keys that are known only at run time")
        sites = set(av.sites) if isinstance(av, (DictValue, KnownSet)) else set()
        if not sites <= self.assumptions.tables and not sites & self.assumptions.untabled.keys():
            self.assumptions.tables |= sites
            self._read_again("promote", f"{describe(av)} has keys that are known only at run time")

    def take_table(self, site: Any) -> bool:
        """Give run-time keys to the dict or set that is made at a site; return whether it may have them."""
        if site in self.assumptions.untabled:
            return False
        self.assumptions.tables.add(site)
        return True

    def fix_keys(self, site: Any, why: str) -> None:
        """Keep the keys of the dict or set made at a site known; return where they are known already.

        Assumed: the dict or set has keys of run time.
        Refuted: what the dict or set holds, or one of its keys, has no type there (`why`).
        Next: the keys are known. Where keys come and go, they stay those of run time, and items may be of several kinds.
        """
        if site not in self.assumptions.tables:
            return
        if site in self.assumptions.free_keys and not self.assumptions.unions:
            self.assumptions.unions = True
            self.assumptions.known_length.clear()
        else:
            self.assumptions.tables.discard(site)
            self.assumptions.untabled[site] = why
            self.assumptions.elements = _without(self.assumptions.elements, DictType)
        self._read_again("fix_keys", f"the keys of a dict or set must be known: {why}")

    def keep_keys(self, site: Any, why: str) -> None:
        """Keep the keys of the dict at a site known, from the start."""
        self.assumptions.untabled[site] = why

    def free_keys(self, sites: Iterable[Any]) -> None:
        """Let the dicts made at some sites gain and lose keys, in this reading too."""
        for site in sites:
            if site not in self.assumptions.free_keys:
                self.assumptions.free_keys.add(site)
                self.assumptions.untabled.pop(site, None)  # from here on, such dicts may hold items of several kinds
                self.assumptions.known_length.clear()  # a list of such dicts has one item type

    def free_keys_of(self, record: Record) -> None:
        """Let the keys of the dicts that a record stands for come and go; return where they do already.

        Assumed: all dicts that are made with the same keys keep these.
        Refuted: a key comes or goes where several dicts may be meant.
        Next: these dicts have keys of run time.
        """
        key = next(k for k, found in self.assumptions.records.items() if found is record)
        if key not in self.assumptions.free_keys:
            self.assumptions.free_keys.add(key)
            self.assumptions.elements = _without(self.assumptions.elements, ObjectType)
            why = "keys come to a dict, or go, where several dicts may be meant"
            self._read_again("free_keys_of", why)

    def make_runtime(self, classes: Mapping[Any, type]) -> None:
        """Let the instances of classes exist at run time; return where all do. classes: by the keys of their records.

        Assumed: it is known everywhere which object is meant, so that objects are taken apart.
        Refuted: an object goes into a container of any length, or is one of several.
        Next: the instances of its class are references to records.
        """
        records = self.assumptions.records
        if classes.keys() <= records.keys():
            return
        names = Names({record.name: 1 for record in records.values()})
        for key, cls in classes.items():
            if key not in records:
                records[key] = Record(names.fresh(cls.__name__), cls=cls)
        self.assumptions.known_length.clear()  # a list of such objects has one item type
        names_of = ", ".join(sorted(cls.__name__ for cls in classes.values()))
        self._read_again("make_runtime", f"instances of {names_of} are needed as values of run time")

    def let_lack(self, record: Record, names: set[str]) -> NoReturn:
        """Let some instances of a class lack attributes.

        Assumed: all instances have the attributes that the first one has.
        Refuted: one has others.
        Next: a field says whether the instance has the attribute.
        """
        record.late |= names
        listed = ", ".join(sorted(map(str, names)))
        self._read_again("let_lack", f"some {record.name} lack the attributes {listed}")

    def hold_constant(self, record: Record, name: str, obj: Any) -> NoReturn:
        """Keep an attribute of a class as a constant.

        Assumed: the attribute has a value at run time.
        Refuted: the attribute is a dtype, class, function or the like.
        Next: all instances have this very object.
        """
        record.constants[name] = obj
        self._read_again("hold_constant", f"the attribute '{name}' of a {record.name} is a constant")

    # ---- state ----

    def add_slot(self, container: Any, location: StateLocation, why: str) -> None:
        """Make a place outside a slot.

        Assumed: compiled code does not change what the container has there, so that reading it may be guarded.
        Refuted: a statement assigns to the location, or a deque is there (`why`).
        Next: the value there at entry is a parameter.
        """
        _add_location(self.assumptions.state, container, location)
        self._outdate("add_slot", why)

    def change_outside(self, obj: Any, container: Any, key: Any) -> None:
        """Make the place of a list or dict outside a slot, because the code changes what is in it.

        Assumed: compiled code does not change the list or dict, so that its items may be guarded.
        Refuted: a statement changes it.
        Next: the list or dict at entry is a parameter.
        """
        self.assumptions.changed[id(obj)] = obj
        _add_location(self.assumptions.state, container, StateLocation(container, key, self.position.loc, is_item=True))
        self._outdate("change_outside", f"a {type(obj).__name__} outside is changed")

    def add_item_slots(self, obj: list[Any], loc: Loc) -> None:
        """Make the items of a list slots, in this reading. loc: where the first change of the list was found."""
        for i in range(len(obj)):
            _add_location(self.assumptions.state, obj, StateLocation(obj, i, loc, is_item=True))

    def kinds_at(self, at: Any, first: Any) -> tuple[Any, ...]:
        """Return the kinds of values that a slot may hold. first: the kind of its present value."""
        return tuple(self.assumptions.kinds.setdefault(at, [first]))

    def add_kinds(self, at: Any, name: str, kinds: Iterable[Any]) -> None:
        """Let the place of a slot hold more kinds of values, in a build ahead of time. name: of the slot, for people.

        Assumed: the slot holds values of the kinds that were found so far.
        Refuted: a statement assigns a value of another kind.
        Next: the layout of the slot has room for all of them.
        """
        self.assumptions.kinds[at] += [kind for kind in kinds if kind not in self.assumptions.kinds[at]]
        self._outdate("add_kinds", f"'{name}' takes values of another kind")

    def keep_written(self, tensors: Mapping[int, StateLocation]) -> None:
        """Make the tensors outside that the code writes to slots, in a build ahead of time. tensors: their places, by id.

        Assumed: the code only reads the tensors outside.
        Refuted: an op writes to some.
        Next: the places of these tensors are slots.
        """
        for tensor, location in tensors.items():
            self.assumptions.written.add(tensor)
            _add_location(self.assumptions.state, location.owner, location)
        if tensors:
            self._read_again("keep_written", "compiled code writes to a tensor outside")


def _add_location(state: dict[Any, StateLocation], container: Any, location: StateLocation) -> None:
    """Note a location under its present container. An attribute replaces an item of the same container and key."""
    at = (id(container), location.key)
    if at not in state or not location.is_item:
        state[at] = location


def sites_of(speculation: Speculation, av: ListValue) -> set[Any]:
    """Return the sites of the program at which a list may have been made."""
    variable = _variable_of(av)
    return {site for site, made in speculation.type_variables if made.find() is variable} | {av.site}


def keep_length(speculation: Speculation, av: ListValue, error: UserError) -> NoReturn:
    """Keep the items of a list one by one in the next reading; raise `error` where that is no help."""
    speculation.keep_sites(sites_of(speculation, av), _variable_of(av), error)


def _variable_of(av: ListValue) -> TypeVariable | None:
    return av.value.type.variable.find() if av.value is not None and isinstance(av.value.type, ListType) else None


def _without(elements: dict[Any, Type], kind: type[Type]) -> dict[Any, Type]:
    """Return the element types without those that contain values which the next reading makes in another form."""
    return {site: t for site, t in elements.items() if not mentions(t, kind)}
