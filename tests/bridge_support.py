"""What the tests of the bridge share: the compiled library and callables over its entries. Their fixtures are imported
by name."""

import gc
import subprocess
from pathlib import Path

import pytest
from bridge_specs import Constant, Tensor

from scriptc import runtime
from scriptc.runtime import bridge
from scriptc.runtime.bridge import Param, VariantSpec

# ORDER ENTRIES: bridge_lib.c
ENTRIES = """add_one identity transposed twice shared inner fill_seven list_sum list_append scalars fail fail_named
warn_print spin nested double_ints linear shapes clone work small write_fresh""".split()

VEC, MAT = Tensor("f32", 1), Tensor("f32", 2)
NONE = Constant(None)


@pytest.fixture(scope="session", name="library")
def library_fixture(tmp_path_factory):
    out = tmp_path_factory.mktemp("bridge") / "lib.so"
    sources = [Path(__file__).parent / "data" / "bridge_lib.c"]
    sources += [runtime.SOURCE_DIR / f"sc_{name}.c" for name in ("core", "tables")]
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden"]
    flags += ["-DSC_SHARES_CONTEXTS"]  # as the bridge itself: it may run under ASan without being built with it
    subprocess.run(["gcc", *flags, f"-I{runtime.INCLUDE_DIR}", *map(str, sources), "-o", str(out)], check=True)
    return out


def variant(library, name, params, result, **more):
    """params: specs for arguments called x, y, z, or Params."""
    named = tuple(p if isinstance(p, Param) else Param(n, p) for n, p in zip("xyz", params, strict=False))
    return VariantSpec(library, ENTRIES.index(name), named, result, **more)


def never(args, kwargs):
    raise LookupError(f"miss: {args} {kwargs}")


@pytest.fixture(params=[True, False], ids=["exchange", "fallback"], name="exchange")
def exchange_fixture(request):
    return request.param


@pytest.fixture(name="make")
def make_fixture(library, exchange):
    """A callable with one variant; misses raise LookupError."""

    def make(name, params, result, **more):
        c = bridge.Callable(never, exchange=exchange)
        c.add_variant(variant(library, name, params, result, **more))
        return c

    return make


@pytest.fixture(autouse=True)
def nothing_stays_alive():
    before = bridge.live_objects()
    yield
    if bridge.live_objects() > before:
        gc.collect()  # slow where torch is loaded
    assert bridge.live_objects() <= before
