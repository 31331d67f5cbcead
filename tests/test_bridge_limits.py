"""The bridge at its edges: refusals, errors, warnings, autograd, threads, memory."""

import contextlib
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

import pytest
import torch
from bridge_specs import Arg, Constant, Float, Ignored, Int, List, Tensor, Tuple
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
from settings import without_asan

import scriptc
from scriptc.runtime import bridge, tensors
from scriptc.runtime.bridge import Live

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
    "lazily conjugated": lambda: torch.ones(2, dtype=torch.complex64).conj(),
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


def test_usual_keys_are_known():
    assert tensors.usual_keys()[2], "every tensor takes the slow path"
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
    with torch.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError, match="forward-mode"):
        f(x)
    with pytest.raises(RuntimeError, match="__torch_dispatch__"):
        make_fx(f)(x)
    with torch.device("cpu"), torch.autocast("cpu"):
        assert f(x).tolist() == [2, 2]


def test_a_mode_with_the_name_of_the_device_mode_is_refused(make):
    class DeviceContext(torch.overrides.TorchFunctionMode):
        device = torch.device("cpu")

    f, x = make("add_one", [VEC], VEC).call, torch.ones(2)
    with DeviceContext(), pytest.raises(RuntimeError, match="DeviceContext"):
        f(x)


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
    assert not wrong and counting[0] > 3


def test_gil_is_released_for_long_runs(make):
    f = make("spin", [VEC, Int()], VEC).call
    x, ticks = torch.ones(1), []
    f(x, 30)
    thread = threading.Thread(target=lambda: f(x, 200_000))
    thread.start()
    while thread.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.005)
    assert len(ticks) > 3  # one or two, if the run kept other threads waiting


def test_threads_that_compile(library):
    def compile_(args, kwargs):
        spec = Tensor("f32", args[0].dim())
        time.sleep(0)
        c.add_variant(variant(library, "add_one", [spec], spec))

    c, wrong = bridge.Callable(compile_), []

    def work(k):
        for i in range(200):
            x = torch.zeros((1,) * ((i + k) % 6))
            if c.call(x).shape != x.shape:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_calls_may_nest(make, monkeypatch):
    inner = make("add_one", [VEC], VEC).call
    c = make("warn_print", [], NONE)

    class Out(io.StringIO):
        def write(self, text):
            if c.counts()["objects"] == 0 and len(self.getvalue()) < 50:
                super().write(text)
                c.call()
            return inner(torch.ones(1)).numel()

    out = Out()
    monkeypatch.setattr(sys, "stdout", out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        c.call()
    assert out.getvalue() == "printed\n" * 7


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
        (make("add_one", [VEC, Constant(key)], Tuple((VEC, Constant(key), Arg((0,))))), (x, key)),
        (make("list_sum", [List(VEC)], Tuple((Float(), Int()))), ([x, None],)),
        (make("fail", [VEC], NONE), (x,)),
    ]
    watched = [x, xs, xs[0], key]

    def calls():
        for c, args in cases:
            with contextlib.suppress(LookupError):
                c.call(*args)

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
            assert len(c.call(x)) == 20  # with memory that was kept for later
        except (MemoryError, RuntimeError) as error:
            assert type(error) is MemoryError or "can't allocate memory" in str(error)
            failures += 1
        c.count_allocations()
        assert c.counts()["blocks"] == 0, fail_at
    assert failures > n // 2
    assert len(c.call(x)) == 20


@without_asan
@pytest.mark.usefixtures("default_collector")
def test_memory_stays_flat(make):
    f = make("work", [VEC], List(VEC)).call
    bad = make("fail", [VEC], NONE).call
    small, large = torch.ones(10), torch.ones(2000)

    def calls(n):
        for _ in range(n):
            f(small), f(large)
            with contextlib.suppress(IndexError):
                bad(small)

    calls(200)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(7000)
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


def test_no_thread_takes_a_library_that_another_closes(library, monkeypatch):
    """The library is opened anew, also at the moment in which it is closed."""
    made = []

    class Lib:
        def __getattr__(self, name):
            return getattr(real, name)

        def sc_bridge_close(self, handle):
            if not made:
                made.append(bridge.Callable(never))
                made[0].add_variant(variant(library, "add_one", [VEC], VEC))
            real.sc_bridge_close(handle)

    real = bridge.lib
    monkeypatch.setattr(bridge, "lib", Lib())
    first = bridge.Callable(never)
    first.add_variant(variant(library, "add_one", [VEC], VEC))
    del first
    assert made[0].call(torch.ones(1)).item() == 2


def test_runtime_does_not_import_torch():
    code = "import scriptc.runtime, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_tensor_behind_many_numbers_of_an_item_is_refused() -> None:
    def last(x: torch.Tensor, n: int) -> torch.Tensor:
        items = []
        for i in range(n):
            items.append((*(i + k for k in range(70)), x * i))
        return items[n - 1][70]

    with pytest.raises(scriptc.CompileError, match="(?s)behind 63 other values.*items.append.*hint: put it in front"):
        scriptc.compile(last)(torch.ones(2), 3)
