"""Calls entries of bridge_lib.c through the bridge in a Python that needs no torch: `bridge_without_torch.py LIBRARY [alone]`.

alone: by the stable ABI alone. Prints what the bridge found in this Python's objects."""

import gc
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

TESTS = Path(__file__).parents[1]
ENTRIES = {"identity": 1, "scalars": 9, "double_ints": 15}  # bridge_support.ENTRIES


def host(exchange):
    """The host of a Python in which there are no tensors."""
    names = """function_modes dispatch_modes grad_enabled num_threads default_dtype refuse_tensor refuse_mode view
    new_flat describe bump make_exception place_exception warn print why_refused random_begin random_end python_word
    numpy_begin numpy_end leaf_kind zeros saved_hooks transforms keeps_graph refuse_backward refuse_version""".split()
    fields = dict.fromkeys(names, lambda *_: 0)
    tensor = type("Tensor", (), {})
    return SimpleNamespace(
        **fields, tensor_type=tensor, parameter_type=tensor, forward_ad={}, forward_ad_key="level",
        requires_grad_key="requires_grad", version_key="_version", api=None, keys=(0,) * 7,
    )  # fmt: skip


tensors = ModuleType("scriptc.runtime.tensors")
tensors.host, tensors.DTYPES, tensors.runs_openmp = host, {"f32": None}, lambda: False
sys.modules[tensors.__name__] = tensors
sys.path.insert(0, str(TESTS))

from bridge_guards import Derived, guards  # noqa: E402
from bridge_specs import Bool, Constant, Float, Int, List, Map, Object, Set, Str, Tuple  # noqa: E402

from scriptc.runtime import bridge  # noqa: E402
from scriptc.runtime.bridge import Guard, GuardSpec, Live, Param, VariantSpec  # noqa: E402


def never(args, kwargs):
    raise LookupError("miss")


def make(name, params, result, **more):
    made = bridge.Callable(never)
    named = tuple(Param(n, p) for n, p in zip("xyz", params))  # noqa: B905
    made.add_variant(VariantSpec(sys.argv[1], ENTRIES[name], named, result, **more))
    return made.call


def misses(f, *args):
    try:
        f(*args)
    except LookupError:
        return True
    return False


NUMBERS, RESULTS = (Int(), Float(), Bool()), Tuple((Int(), Float(), Bool()))
TEXTS = ["", "ascii", "caf\xe9 \xff", "\u20ac uro", "\U0001f600 smile", "\ufeffmark", "\ud800\udc00", "\U0010ffff\udfff"]


def check_values():
    assert make("scalars", NUMBERS, RESULTS)(1, 2.5, True) == (2, 5.0, False)
    assert misses(make("scalars", NUMBERS, RESULTS), 1, 2, True)
    text = make("identity", [Str()], Str())
    for value in TEXTS:
        assert text(value) == value and text(value * 3) == value * 3
    for spec, value in [(List(Int()), [1, 2, 3]), (List(Float(), tuple), (1.5, 2.5)), (Map(Str(), Int()), {"a": 1}),
                        (Set(Int()), {5, 1, 99}), (List(Tuple((Int(), Bool()))), [(1, True)])]:  # fmt: skip
        assert make("identity", [spec], spec)(value) is value
    numbers = [1, 2, 3]
    make("double_ints", [List(Int())], Constant(None))(numbers)
    assert numbers == [2, 4, 6]


def check_binding():
    def bind(x, *rest, z=True):
        return x, *rest, z

    f = make("scalars", NUMBERS, RESULTS, bind=bind)
    assert f(1, 2.5) == (2, 5.0, False) and f(1, 2.5, z=False) == (2, 5.0, True)


def check_places():
    class Settings:
        pass

    settings, scales, cell = Settings(), [0.0, 2.5], (lambda flag: lambda: flag)(True).__closure__[0]
    settings.steps = 1
    spec = Object(Settings, (("steps", Int()),))
    live = (Live(scales, 1, Float()), Live(cell, None, Bool()))
    f = make("scalars", [spec], RESULTS, live=live)
    assert f(settings) == (2, 5.0, False)
    settings.steps, scales[1], cell.cell_contents = 2, 1.0, False
    assert f(settings) == (3, 2.0, True)
    del cell.cell_contents
    assert misses(f, settings)


def check_guards():
    for guard, change in guards():
        f = make("scalars", NUMBERS, RESULTS, guards=(guard,))
        if change is not None:
            for _ in range(3):
                assert f(1, 2.5, True) == (2, 5.0, False), guard
            change()
        assert misses(f, 1, 2.5, True) and misses(f, 1, 2.5, True), guard
    del Derived.method


def check_versions():
    """A class and a dict of a library change again and again, and come back to what was expected."""
    base = type("Base", (), {"b": 2})
    cls, names = type("Made", (base,), {"a": 1}), {"a": 1}
    watched = [GuardSpec(Guard.TYPE_ATTR_IS, cls, "a", 1, True), GuardSpec(Guard.TYPE_ATTR_IS, cls, "b", 2, True),
               GuardSpec(Guard.DICT_EQ, names, "a", 1, True)]  # fmt: skip
    f = make("scalars", NUMBERS, RESULTS, guards=watched)
    for turn in range(1200):  # more than the versions that Python 3.13 gives to one class
        assert not misses(f, 1, 2.5, True) and not misses(f, 1, 2.5, True)
        base.b = 3
        assert misses(f, 1, 2.5, True)
        base.b = 2
        assert not misses(f, 1, 2.5, True)
        cls.other = names["other"] = turn
        assert not misses(f, 1, 2.5, True)
        names["a"] = 2
        assert misses(f, 1, 2.5, True)
        names["a"] = 1


if sys.argv[2:] == ["alone"]:
    bridge.lib.sc_bridge_stable_abi_only()
checks = [check_values, check_binding, check_places, check_guards, check_versions]
for check in checks * 2:
    check()
gc.collect()
assert bridge.live_objects() == 0
print(bridge.ffi.string(bridge.lib.sc_bridge_shortcuts()).decode())
