"""The bridge, over a hand-written C library (data/bridge_lib.c) that stands for compiled code: what goes in and out."""

import collections

import pytest
import torch
from bridge_guards import Derived, guards
from bridge_specs import Arg, Bool, Constant, Dict, Float, Ignored, Int, List, NamedTuple, Tensor, Tuple
from bridge_support import (  # noqa: F401  (fixtures)
    MAT,
    NONE,
    VEC,
    exchange_fixture,
    library_fixture,
    make_fixture,
    never,
    nothing_stays_alive,
    variant,
)
from torch import nn

from scriptc.runtime import bridge, tensors
from scriptc.runtime.bridge import Guard, GuardSpec, Live, Param, VariantSpec

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
    f = make("add_one", [VEC, Constant(known)], VEC).call
    for value in good:
        f(torch.ones(1), value)
    for value in bad:
        with pytest.raises(LookupError):
            f(torch.ones(1), value)


Point = collections.namedtuple("Point", "a b")


def test_containers(make):
    tree = Tuple((Int(), Dict((("f", Float()), ("b", Bool()))), Ignored()))
    result = Dict(
        (("x", Int()), ("y", NamedTuple(Point, (Float(), Bool()))), ("z", Arg((0, 1, "f"))), ("k", Constant("k")))
    )
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
    out = make("twice", [VEC], NamedTuple(cls, (VEC, VEC))).call(x)
    assert type(out) is cls and out.values.tolist() == [2, 2, 2]


def test_named_tuple_argument(make):
    f = make("scalars", [NamedTuple(Point, (Int(), Float())), Bool()], Tuple((Int(), Float(), Bool()))).call
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

    f = make("add_one", [VEC, Ignored(), Constant((("p", 1),))], Tuple((VEC, Arg((1,)))), bind=forward).call
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


def test_an_exception_that_a_miss_returns_is_raised_without_its_frame():
    def refuses(args, kwargs):
        return given

    given = LookupError("not this call")
    with pytest.raises(LookupError) as caught:
        bridge.Callable(refuses).call(1)
    assert caught.value is given and caught.tb.tb_next is None


def test_library_errors(library, tmp_path):
    c = bridge.Callable(never)
    with pytest.raises(OSError, match="no_such"):
        c.add_variant(variant(tmp_path / "no_such.so", "add_one", [VEC], VEC))
    with pytest.raises(ValueError, match="has 1 arguments and 1 results, its specs have 0 and 1"):
        c.add_variant(variant(library, "add_one", [], VEC))
    with pytest.raises(ValueError, match="no entry"):
        c.add_variant(VariantSpec(library, 999, (), NONE))
    with pytest.raises(ValueError, match="elements of a list"):
        c.add_variant(variant(library, "list_sum", [List(Ignored())], NONE))


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


def _guards():
    yield from guards()
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


def test_what_seldom_changes_is_seen_each_time_that_it_does(make):
    cls, names, view = type("Made", (), {"a": 1, "b": 2}), {"a": 1}, memoryview(b"a.b.")[::2]
    guards = [
        GuardSpec(Guard.TYPE_ATTR_IS, cls, "a", 1, True), GuardSpec(Guard.DICT_EQ, names, "a", 1, True),
        GuardSpec(Guard.TYPE_ATTR_IS, cls, "b", 2, True), GuardSpec(Guard.BYTES_ARE, view, None, ("B", (2,), b"ab")),
    ]  # fmt: skip
    f = make("add_one", [VEC], VEC, guards=guards).call

    def holds():
        try:
            return f(torch.ones(1, dtype=torch.float32)).item() == 2
        except LookupError:
            return False

    for _ in range(3):
        assert holds() and holds()
        cls.c = names["c"] = 3  # another version, in which all holds
        assert holds() and holds()
        cls.b = 3
        assert not holds() and not holds()
        cls.b = 2
        names["a"] = 2
        assert not holds() and not holds()
        names["a"] = 1


def test_guard_containers_are_checked(make):
    with pytest.raises(TypeError, match="guard CELL_IS over a dict"):
        make("add_one", [VEC], VEC, guards=(GuardSpec(Guard.CELL_IS, {}),))
    with pytest.raises(TypeError, match="a bytearray has no version"):
        make("add_one", [VEC], VEC, guards=(GuardSpec(Guard.BYTES_ARE, bytearray(), seldom=True),))
    with pytest.raises(TypeError, match="live value in a tuple"):
        make("add_one", [], VEC, live=(Live((), 0, VEC),))
