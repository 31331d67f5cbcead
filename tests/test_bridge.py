"""The bridge, over a hand-written C library (data/bridge_lib.c) that stands for compiled code."""

import collections
import gc
import io
import re
import resource
import subprocess
import sys
import threading
import time
import traceback
import warnings
import weakref
from pathlib import Path

import pytest
import torch
from scriptc import runtime
from scriptc.runtime import bridge, tensors
from scriptc.runtime.bridge import (
    Arg,
    Bool,
    Dict,
    Float,
    Guard,
    GuardSpec,
    Ignored,
    Int,
    Known,
    List,
    Live,
    NamedTuple_,
    Param,
    Tensor,
    Tuple,
    VariantSpec,
)
from torch import nn

# ORDER ENTRIES: bridge_lib.c
ENTRIES = """add_one identity transposed twice shared inner fill_seven list_sum list_append scalars fail fail_named
warn_print spin nested double_ints linear shapes clone work small write_fresh""".split()

VEC, MAT = Tensor("f32", 1), Tensor("f32", 2)
NONE = Known(None)


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    out = tmp_path_factory.mktemp("bridge") / "lib.so"
    sources = [Path(__file__).parent / "data" / "bridge_lib.c", runtime.SOURCE_DIR / "sc_core.c"]
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden"]
    subprocess.run(["gcc", *flags, f"-I{runtime.INCLUDE_DIR}", *map(str, sources), "-o", str(out)], check=True)
    return out


def variant(library, name, params, result, **more):
    """params: specs for arguments called x, y, z, or Params."""
    named = tuple(p if isinstance(p, Param) else Param(n, p) for n, p in zip("xyz", params, strict=False))
    return VariantSpec(library, ENTRIES.index(name), named, result, **more)


def never(args, kwargs):
    raise LookupError(f"miss: {args} {kwargs}")


@pytest.fixture(params=[True, False], ids=["exchange", "fallback"])
def exchange(request):
    return request.param


@pytest.fixture
def make(library, exchange):
    """A callable with one variant; misses raise LookupError."""

    def make_(name, params, result, **more):
        c = bridge.Callable(never, exchange=exchange)
        c.add_variant(variant(library, name, params, result, **more))
        return c

    return make_


@pytest.fixture(autouse=True)
def nothing_stays_alive():
    before = bridge.live_objects()
    yield
    if bridge.live_objects() > before:
        gc.collect()  # slow where torch is loaded
    assert bridge.live_objects() <= before


# ---- tensors ----


def test_fresh_result(make):
    f = make("add_one", [MAT], MAT).call
    x = torch.randn(3, 4)
    torch.testing.assert_close(f(x), x + 1)
    torch.testing.assert_close(f(x.T), x.T + 1)
    assert f(torch.empty(0, 4)).shape == (0, 4)
    assert type(f(nn.Parameter(x))) is torch.Tensor


def test_identity_is_kept(make):
    f = make("identity", [VEC], VEC).call
    for x in torch.ones(2), nn.Parameter(torch.ones(2)), nn.Buffer(torch.ones(2)), torch.ones(2, requires_grad=True):
        assert f(x) is x


def test_view_of_an_argument(make):
    f = make("transposed", [MAT], MAT).call
    base = torch.arange(24.0).reshape(4, 6)
    x = base[:, ::2]
    y = f(x)
    assert y._base is x._base and y.stride() == (2, 6) and y.storage_offset() == 6
    y.zero_()
    assert x[1:].abs().sum() == 0 and x[0].sum() == 6


def test_same_tensor_twice_is_one_object(make):
    a, b = make("twice", [VEC], Tuple((VEC, VEC))).call(torch.ones(2))
    assert a is b


def test_results_share_a_storage(make):
    a, b = make("shared", [VEC], Tuple((VEC, VEC))).call(torch.arange(6.0))
    assert b.tolist() == [3, 4, 5]
    b.zero_()
    assert a.tolist() == [1, 2, 0, 0, 0, 6]
    del a
    assert b.tolist() == [0, 0, 0]


def test_offset_is_kept(make):
    y = make("inner", [VEC], VEC).call(torch.arange(6.0))
    assert y.tolist() == [3, 4, 5] and y.storage_offset() == 2


def test_shapes_of_results(make):
    spec = Tuple((MAT, Tensor("i64", 0), Tensor("f64", 2), VEC))
    empty, scalar, strided, none = make("shapes", [], spec).call()
    assert empty.shape == (0, 3) and scalar.item() == 42 and none is None
    assert strided.stride() == (1, 4) and strided.tolist() == [[0, 4, 8], [1, 5, 9]]


@pytest.mark.parametrize("name", tensors.DTYPES)
def test_dtypes(make, name):
    x = torch.tensor([0, 1, 3]).to(tensors.DTYPES[name])
    y = make("clone", [Tensor(name, 1)], Tensor(name, 1)).call(x)
    assert y.dtype == x.dtype and torch.equal(x, y)


def test_inference_mode(make):
    with torch.inference_mode():
        x = torch.ones(2)
        assert make("add_one", [VEC], VEC).call(x).is_inference()
        make("fill_seven", [VEC], NONE).call(x)
    assert x.tolist() == [7, 7]


def test_writes_bump_versions(make):
    c = make("fill_seven", [VEC], NONE)
    x = torch.zeros(4)
    assert c.call(x[1:3]) is None
    assert x.tolist() == [0, 7, 7, 0] and x._version == 1


# ---- matching ----


def test_tensor_specs(make):
    f = make("add_one", [Tensor("f32", 2, (None, 3), contiguous=True)], MAT).call
    f(torch.ones(5, 3)), f(torch.ones(0, 3)), f(torch.ones(1, 6)[:, :3])
    for bad in torch.ones(3), torch.ones(2, 4), torch.ones(3, 2).T, torch.ones(2, 3).double(), [1.0], None, 1:
        with pytest.raises(LookupError):
            f(bad)


def test_scalars(make):
    f = make("scalars", [Int(), Float(), Bool()], Tuple((Int(), Float(), Bool()))).call
    assert f(1, 2.5, True) == (2, 5.0, False)
    assert f(-(2**63), float("inf"), False) == (1 - 2**63, float("inf"), True)
    for bad in (True, 1.0, False), (1, 1, False), (1, 1.0, 0), (1, 1.0, None), (torch.tensor(1), 1.0, True):
        with pytest.raises(LookupError):
            f(*bad)
    with pytest.raises(OverflowError, match="Python int too large to convert to C long"):
        f(2**63, 1.0, True)


class Opaque:
    pass


@pytest.mark.parametrize(
    ("known", "good", "bad"),
    [
        (True, [True], [1, False, None]),
        (3, [3], [True, 3.0, 4]),
        (10**30, [10**30], [10**30 + 1]),
        (0.0, [0.0], [-0.0, 0, False]),
        (float("nan"), [float("nan"), -float("nan")], [0.0]),
        ("relu", ["".join(["re", "lu"])], ["gelu"]),
        ((1, ("a", None)), [(1, ("".join("a"), None))], [(1, ("a",)), (True, ("a", None)), [1, ("a", None)]]),
        (Opaque, [Opaque], [Opaque()]),
    ],
)
def test_known(make, known, good, bad):
    f = make("add_one", [VEC, Known(known)], VEC).call
    for value in good:
        f(torch.ones(1), value)
    for value in bad:
        with pytest.raises(LookupError):
            f(torch.ones(1), value)


Point = collections.namedtuple("Point", "a b")


def test_containers(make):
    tree = Tuple((Int(), Dict((("f", Float()), ("b", Bool()))), Ignored()))
    result = Dict((("x", Int()), ("y", NamedTuple_(Point, (Float(), Bool()))), ("z", Arg((0, 1, "f"))), ("k", Known("k"))))
    f = make("scalars", [tree], result).call
    half = 0.5
    out = f((1, {"f": half, "b": True}, object()))
    assert out == {"x": 2, "y": Point(1.0, False), "z": half, "k": "k"}
    assert type(out["y"]) is Point and out["z"] is half
    for bad in (1, {"b": True, "f": 0.5}, 0), (1, {"f": 0.5}, 0), [1, {}, 0], (1, {"f": 0.5, "b": True}), Point(1, 2):
        with pytest.raises(LookupError):
            f(bad)


def test_torch_return_types(make):
    cls = type(torch.ones(2).max(0))
    x = torch.ones(3)
    out = make("twice", [VEC], NamedTuple_(cls, (VEC, VEC))).call(x)
    assert type(out) is cls and out.values.tolist() == [2, 2, 2]


def test_named_tuple_argument(make):
    f = make("scalars", [NamedTuple_(Point, (Int(), Float())), Bool()], Tuple((Int(), Float(), Bool()))).call
    assert f(Point(1, 2.0), True) == (2, 4.0, False)
    with pytest.raises(LookupError):
        f((1, 2.0), True)


def test_keywords_and_defaults(make):
    params = [Param("a", Int()), Param("b", Float(), 0.5), Param("c", Bool(), True)]
    f = make("scalars", params, Tuple((Int(), Float(), Bool())), positional=2).call
    assert f(1) == f(a=1) == f(1, c=True) == f(c=True, b=0.5, a=1) == f(1, **{"".join(["b"]): 0.5}) == (2, 1.0, False)
    for args, kwargs in [((), {}), ((1,), {"a": 1}), ((1, 0.5, True), {}), ((1,), {"d": 1}), ((), {"b": 0.5})]:
        with pytest.raises(LookupError):
            f(*args, **kwargs)


def test_positional_only(make):
    f = make("add_one", [Param(None, VEC)], VEC).call
    assert f(torch.ones(1)).item() == 2
    with pytest.raises(LookupError):
        f(x=torch.ones(1))


def test_bind(make):
    def forward(x, *rest, **options):
        return (x, rest, tuple(options.items()))

    f = make("add_one", [VEC, Ignored(), Known((("p", 1),))], Tuple((VEC, Arg((1,)))), bind=forward).call
    rest = object()
    y, got = f(torch.ones(1), rest, p=1)
    assert y.item() == 2 and got == (rest,)
    with pytest.raises(LookupError):
        f(torch.ones(1), p=2)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        f()


def test_miss_compiles_then_runs_once(library):
    seen = []

    def compile_(args, kwargs):
        seen.append((args, kwargs))
        spec = Tensor("f32", (args or (kwargs["x"],))[0].dim())
        c.add_variant(variant(library, "add_one", [spec], spec))
        return True

    c = bridge.Callable(compile_)
    for _ in range(3):
        assert c.call(torch.ones(1)).shape == (1,)
        assert c.call(x=torch.ones(1, 1)).shape == (1, 1)
    assert len(seen) == 2 and seen[0][1] == {} and list(seen[1][1]) == ["x"]
    with pytest.raises(RuntimeError, match="internal scriptc error"):
        c.call(torch.ones(1, dtype=torch.int64))


def test_library_errors(library, tmp_path):
    c = bridge.Callable(never)
    with pytest.raises(OSError, match="no_such"):
        c.add_variant(variant(tmp_path / "no_such.so", "add_one", [VEC], VEC))
    with pytest.raises(ValueError, match="has 1 arguments and 1 results, its specs have 0 and 1"):
        c.add_variant(variant(library, "add_one", [], VEC))
    with pytest.raises(ValueError, match="no entry"):
        c.add_variant(VariantSpec(library, 999, (), NONE))
    with pytest.raises(ValueError, match="elements of a list"):
        c.add_variant(variant(library, "list_sum", [List(Known(1))], NONE))


# ---- lists ----


def test_list_argument(make):
    f = make("list_sum", [List(VEC)], Tuple((Float(), Int()))).call
    assert f([]) == (0.0, 0)
    assert f([torch.ones(2)] * 500) == (1000.0, 500)
    for bad in (torch.ones(2),), [torch.ones(2), None], [torch.ones(1, 1)]:
        with pytest.raises(LookupError):
            f(bad)


def test_list_is_written_back(make):
    f = make("list_append", [List(VEC), VEC], List(VEC)).call
    first, x = torch.zeros(1), torch.ones(1)
    xs = [first]
    assert f(xs, x) is xs
    assert len(xs) == 3 and xs[0] is first and xs[1].item() == 2 and xs[2] is x
    numbers = [1, 2, 3]
    assert make("double_ints", [List(Int())], NONE).call(numbers) is None
    assert numbers == [2, 4, 6]


def test_written_list_shares_storage_with_result(make):
    xs = [torch.zeros(1)]
    y = make("write_fresh", [List(VEC), VEC], VEC).call(xs, torch.arange(6.0))
    y.zero_()
    assert xs[0].tolist() == [1, 2, 0, 0, 0, 6]


def test_nested_lists_keep_identity(make):
    f = make("nested", [List(List(VEC))], List(List(VEC))).call
    inner = [[torch.ones(1)] for _ in range(40)]
    inner.append(inner[3])  # the same list again
    out = f(inner)
    assert len(out) == 43 and all(a is b for a, b in zip(reversed(inner), out, strict=False))
    assert out[-1] == [] and out[-1] is out[-2]


def test_list_in_two_arguments_is_one(make):
    f = make("list_append", [List(VEC), VEC, Tuple(())], Tuple((List(VEC),))).call
    xs: list = []
    assert f(xs, torch.ones(1), ())[0] is xs


# ---- live values and guards ----


def test_live_values(make):
    module, scale = nn.Linear(3, 1, bias=False), {"scale": 2.0}
    live = (Live(module._parameters, "weight", MAT), Live(scale, "scale", Float()))
    f = make("linear", [VEC], VEC, live=live).call
    x = torch.zeros(2)
    torch.testing.assert_close(f(x), (module.weight.sum() * 2).detach().expand(2))
    module.weight.data = torch.ones(1, 3)
    assert f(x).tolist() == [6, 6]
    scale["scale"] = 1.0
    assert f(x).tolist() == [3, 3]
    module.weight = None
    with pytest.raises(LookupError):
        f(x)
    del scale["scale"]
    with pytest.raises(LookupError):
        f(x)


def test_live_cell(make):
    def closure(w):
        return lambda: w

    cell = closure(torch.ones(1, 2)).__closure__[0]
    f = make("add_one", [], MAT, live=(Live(cell, None, MAT),)).call
    assert f().tolist() == [[2, 2]]
    cell.cell_contents = 3
    with pytest.raises(LookupError):
        f()


class Base:
    def method(self):
        pass


class Derived(Base):
    pass


def _cell(value):
    return (lambda: value).__closure__[0]


def _guards():
    marker = object()
    d = {"is": marker, "eq": (1, "a"), "hook": {}}
    yield GuardSpec(Guard.DICT_IS, d, "is", marker), lambda: d.update({"is": 1})
    yield GuardSpec(Guard.DICT_EQ, d, "eq", (1, "a")), lambda: d.update(eq=(1, "b"))
    yield GuardSpec(Guard.DICT_EQ, d, "is2", marker), None
    yield GuardSpec(Guard.DICT_MISSING, d, "new"), lambda: d.update(new=None)
    yield GuardSpec(Guard.DICT_EMPTY, d["hook"]), lambda: d["hook"].update(a=1)
    cell = _cell(marker)
    yield GuardSpec(Guard.CELL_IS, cell, None, marker), lambda: setattr(cell, "cell_contents", 1)
    number = _cell(1.5)
    yield GuardSpec(Guard.CELL_EQ, number, None, 1.5), lambda: setattr(number, "cell_contents", 2.5)
    empty = _cell(1)
    yield GuardSpec(Guard.CELL_EQ, empty, None, 1), lambda: delattr(empty, "cell_contents")
    method = Base.method
    yield GuardSpec(Guard.TYPE_ATTR_IS, Derived, "method", method), lambda: setattr(Derived, "method", print)
    items = [marker, d]
    yield GuardSpec(Guard.LIST_ITEMS_ARE, items, None, tuple(items)), lambda: items.append(1)
    ordered = [marker, d]
    yield GuardSpec(Guard.LIST_ITEMS_ARE, ordered, None, tuple(ordered)), lambda: ordered.reverse()
    yield GuardSpec(Guard.DEFAULT_DTYPE_IS, expected=torch.float32), lambda: torch.set_default_dtype(torch.float64)
    yield GuardSpec(Guard.GRAD_MODE_IS, expected=True), lambda: torch.set_grad_enabled(False)


@pytest.mark.parametrize("index", range(len(list(_guards()))))
def test_guards(make, index):
    guard, change = list(_guards())[index]
    f = make("add_one", [VEC], VEC, guards=(guard,)).call
    try:
        if change is not None:
            assert f(torch.ones(1, dtype=torch.float32)).item() == 2
            change()
        with pytest.raises(LookupError):
            f(torch.ones(1, dtype=torch.float32))
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        vars(Derived).get("method") and delattr(Derived, "method")


def test_guard_containers_are_checked(make):
    with pytest.raises(TypeError, match="guard CELL_IS over a dict"):
        make("add_one", [VEC], VEC, guards=(GuardSpec(Guard.CELL_IS, {}),))
    with pytest.raises(TypeError, match="live value in a list"):
        make("add_one", [], VEC, live=(Live([], 0, VEC),))


# ---- refusals ----


class Sub(torch.Tensor):
    pass


def _fake():
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(3)


def _freed():
    x = torch.ones(5)
    x.untyped_storage().resize_(0)
    return x


REFUSED = {
    "quantized": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "subclass": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
    "layout torch.sparse_coo": lambda: torch.eye(3).to_sparse(),
    "layout torch.sparse_csr": lambda: torch.eye(3).to_sparse_csr(),
    "layout torch.sparse_csc": lambda: torch.eye(3).to_sparse_csc(),
    "layout torch.sparse_bsr": lambda: torch.eye(4).to_sparse_bsr((2, 2)),
    "layout torch._mkldnn": lambda: torch.ones(3).to_mkldnn(),
    "device meta": lambda: torch.ones(3, device="meta"),
    "FakeTensor": _fake,
    "Sub": lambda: torch.ones(2).as_subclass(Sub),
    "complex64": lambda: torch.ones(2, dtype=torch.complex64).conj(),
    "negated": lambda: torch.ones(2, dtype=torch.complex64).conj().imag,
    "float8_e4m3fn": lambda: torch.ones(2).to(torch.float8_e4m3fn),
    "uint16": lambda: torch.ones(2, dtype=torch.uint16),
    "13 dimensions": lambda: torch.ones((1,) * 13),
    "zero tensor": lambda: torch._efficientzerotensor((3,)),
    "no data": _freed,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reason", REFUSED)
def test_refused_tensors(make, reason):
    f = make("add_one", [Ignored(), VEC], VEC).call
    lists = make("list_sum", [List(VEC)], Tuple((Float(), Int()))).call
    bad = REFUSED[reason]()
    with pytest.raises(TypeError, match=f"argument 'y'.*{re.escape(reason)}"):
        f(0, bad)
    with pytest.raises(TypeError, match=f"argument 'x'.*{re.escape(reason)}"):
        lists([torch.ones(1), bad])
    assert f(0, torch.ones(1)).item() == 2


def test_neg_bit_is_known():
    assert tensors.neg_bit()[2], "the slow is_neg() is asked at every tensor"
    assert tensors.why_refused(torch._neg_view(torch.ones(2)))


def test_functorch_is_refused(make):
    f = make("add_one", [VEC], VEC).call
    for transform in (torch.func.vmap(f), torch.func.grad(lambda x: f(x).sum()), torch.func.functionalize(f)):
        with pytest.raises(TypeError, match=r"torch\.func transform"):
            transform(torch.ones(2))


def test_modes_are_refused(make):
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.overrides import TorchFunctionMode

    f = make("add_one", [VEC], VEC).call
    x = torch.ones(2)
    with TorchFunctionMode(), pytest.raises(RuntimeError, match="TorchFunctionMode"):
        f(x)
    with torch.autocast("cpu"), pytest.raises(RuntimeError, match=r"torch\.autocast"):
        f(x)
    with torch.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError, match="forward-mode"):
        f(x)
    with pytest.raises(RuntimeError, match="__torch_dispatch__"):
        make_fx(f)(x)
    with torch.device("cpu"), torch.autocast("cuda", enabled=False):
        assert f(x).tolist() == [2, 2]


# ---- autograd ----


def test_grad_hook(make):
    calls = []

    def hook(run, args, kwargs):
        calls.append((args, kwargs))
        return run(*args, **kwargs)

    weight = {"w": torch.ones(1, 2)}
    live = (Live(weight, "w", MAT), Live({"s": 1.0}, "s", Float()))
    f = make("linear", [VEC], VEC, live=live, grad_call=hook).call
    x = torch.ones(2)
    f(x)
    assert not calls
    weight["w"] = torch.ones(1, 2, requires_grad=True)
    with torch.no_grad():
        f(x)
    assert not calls
    assert f(x=x).tolist() == [3, 3]
    assert len(calls) == 1 and calls[0][0] == () and calls[0][1]["x"] is x


# ---- errors, warnings, prints ----


def test_error_has_message_and_traceback(make):
    x = torch.zeros(2)
    with pytest.raises(IndexError) as info:
        make("fail", [VEC], NONE).call(x)
    assert str(info.value) == (
        "index 5 is out of range\n  at user_cell.py:34 in cell: return x[5]\n"
        "  at user_model.py:12 in forward: y = self.cell(x)"
    )
    frames = [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(info.value.__traceback__)][1:]
    assert frames == [("user_model.py", 12, "forward"), ("user_cell.py", 34, "cell")]
    assert "^" not in "".join(traceback.format_exception(info.value)).split("user_model.py")[-1]
    assert x.tolist() == [7, 7] and x._version == 1


class Mine(Exception):
    pass


def test_kinds_of_errors(make):
    f = make("fail_named", [Int()], NONE, exceptions={"Mine": Mine}).call
    where = "at user_model.py:12 in forward: y = self.cell(x)"
    with pytest.raises(AssertionError) as info:
        f(0)
    assert str(info.value) == where
    with pytest.raises(KeyError) as info:
        f(1)
    assert info.value.args == ("what",)
    with pytest.raises(Mine, match=f"what\n  {re.escape(where)}"):
        f(2)
    with pytest.raises(RuntimeError, match="Unknown: what"):
        f(3)


def test_warnings_and_prints(make, capsys):
    f = make("warn_print", [], NONE).call
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        f(), f()
    assert [(w.filename, w.lineno, w.category, str(w.message)) for w in caught] == [
        ("user_cell.py", 34, UserWarning, "careful")
    ]
    assert capsys.readouterr().out == "printed\n" * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="careful"):
            f()
    assert capsys.readouterr().out == ""  # an exception ends the output


def test_broken_stdout_surfaces(make, monkeypatch):
    f = make("warn_print", [], NONE).call
    monkeypatch.setattr(sys, "stdout", io.BytesIO())
    with warnings.catch_warnings(), pytest.raises(TypeError):
        warnings.simplefilter("ignore")
        f()


# ---- threads ----


def test_threads_at_once(make):
    f = make("spin", [VEC, Int()], VEC).call
    f(torch.ones(1), 100)  # from now on the GIL is released
    wrong, counting = [], [0]

    def work(k):
        for _ in range(30):
            x = torch.full((k + 1,), float(k))
            if f(x, 300).tolist() != [k + 1.0] * (k + 1):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        counting[0] += 1
        time.sleep(0)
    assert not wrong and counting[0] > 10


def test_gil_is_released_for_long_runs(make):
    f = make("spin", [VEC, Int()], VEC).call
    x, ticks = torch.ones(1), []
    f(x, 30)
    thread = threading.Thread(target=lambda: f(x, 200_000))
    thread.start()
    while thread.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.005)
    assert len(ticks) > 10


# ---- resources ----


def test_time_and_peak(make):
    c = make("spin", [VEC, Int()], VEC)
    c.call(torch.ones(1024), 2000)
    assert 0.002 <= c.last_call_seconds < 0.5 and 4096 <= c.peak_bytes < 8192


def test_references_are_given_back(make):
    x, xs = torch.ones(3), [torch.ones(3)]
    key = object()
    cases = [
        (make("add_one", [VEC], VEC), (x,)),
        (make("identity", [VEC], VEC), (x,)),
        (make("shared", [VEC], Tuple((VEC, VEC))), (torch.arange(6.0),)),
        (make("list_sum", [List(VEC)], Tuple((Float(), Int()))), (xs,)),
        (make("add_one", [VEC, Known(key)], Tuple((VEC, Known(key), Arg((0,))))), (x, key)),
        (make("list_sum", [List(VEC)], Tuple((Float(), Int()))), ([x, None],)),
        (make("fail", [VEC], NONE), (x,)),
    ]
    watched = [x, xs, xs[0], key]

    def calls():
        for c, args in cases:
            try:
                c.call(*args)
            except (LookupError, IndexError):
                pass

    calls()
    before = [sys.getrefcount(o) for o in watched]
    for _ in range(50):
        calls()
    assert [sys.getrefcount(o) for o in watched] == before


def test_blocks_are_given_back(make, exchange):
    c = make("work", [VEC], List(VEC))
    c.count_allocations()
    sizes = [64, 4096, 16, 100_000, 8]
    for n in sizes * 3:
        c.call(torch.ones(n))
        assert c.counts()["cached"] <= c.peak_bytes
    first = c.counts()
    for n in sizes * 3:
        c.call(torch.ones(n))
    assert c.counts()["blocks"] == first["blocks"] and first["objects"] == first["exported"] == 0
    kept = c.call(torch.ones(8))
    assert c.counts()["exported"] == (20 if exchange else 0)
    del c
    assert kept[19].tolist() == [2] * 8


def test_failing_allocations(make):
    c = make("work", [VEC], List(VEC))
    x = torch.ones(3)
    c.count_allocations()
    c.call(x)
    n = c.counts()["allocations"]
    failures = 0
    for fail_at in range(1, n + 1):
        c.count_allocations(fail_at)
        try:
            c.call(x)
        except (MemoryError, RuntimeError) as error:
            assert type(error) is MemoryError or "can't allocate memory" in str(error)
            failures += 1
        c.count_allocations()
        assert c.counts()["blocks"] == 0, fail_at
    assert failures == n
    assert len(c.call(x)) == 20


def test_memory_stays_flat(make):
    f = make("work", [VEC], List(VEC)).call
    bad = make("fail", [VEC], NONE).call
    small, large = torch.ones(10), torch.ones(2000)

    def calls(n):
        for _ in range(n):
            f(small), f(large)
            try:
                bad(small)
            except IndexError:
                pass

    calls(200)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(2000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096  # KiB


def test_callable_is_collected(library):
    class Owner:
        def __init__(self):
            self.callable = bridge.Callable(self.miss)
            self.callable.add_variant(variant(library, "add_one", [VEC], VEC))

        def miss(self, args, kwargs):
            raise LookupError

    owner = Owner()
    kept = owner.callable.call(torch.ones(1))
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None and kept.item() == 2


def test_overhead_is_small(library):
    """Generous by a factor of five: this catches a lost fast path, not a slow machine."""
    weights = {f"w{i}": torch.ones(4, 4) for i in range(5)}
    live = tuple(Live(weights, key, MAT) for key in weights)
    c = bridge.Callable(never)
    c.add_variant(variant(library, "small", [List(VEC)], VEC, live=live))
    xs = [torch.ones(4) for _ in range(10)]
    with torch.no_grad():
        best = min(_time(c, xs) for _ in range(5))
    assert best < 15e-6


def _time(c, xs, n=2000):
    start = time.perf_counter()
    for _ in range(n):
        c.call(xs)
    return (time.perf_counter() - start) / n


def test_runtime_does_not_import_torch():
    code = "import scriptc.runtime, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
