"""C extensions: the tutorial of torch.utils.ffi, calls from Python, what C functions do not get, and building."""

from __future__ import annotations

import multiprocessing
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fresh_python
import numpy as np
import pytest
import torch
from torch import Tensor

import scriptc
from scriptc.backend_c import toolchain
from scriptc.backend_c.extensions import cuda
from scriptc.backend_c.extensions import library as extension_library
from scriptc.extensions.functions import Extension
from scriptc.runtime import INCLUDE_DIR, SOURCE_DIR

ROOT = Path(__file__).parent.parent
TUTORIAL = ROOT / "examples" / "extension"

HEADER = """
#ifndef CHECKED_H
#define CHECKED_H
#include <stdint.h>
#include "more.h"
#define UNUSED(x) (void)(x)
typedef double number;
/* out = a + factor * b */
sc_status add(const DLTensor *a, const DLTensor *b, number factor, DLTensor *out);
void twice(DLTensor *x);
int count(const DLTensor *x, const DLTensor *y);
long long numbers(signed char small, unsigned short middle, uint64_t large, _Bool flag, float real, const char *text);
double half(int n);
uint64_t largest(void);
bool is_even(int64_t n);
sc_status fails(int how);
int flattens(DLTensor *x);
int const_resized(const DLTensor *x);
void strides(const DLTensor *x, DLTensor *out);
int calls(void);
#ifdef WITH_SCALE
int scale(void);
#endif
static inline int helper(struct odd *unused) { return unused != 0; }
#endif
"""
MORE = "typedef float small_number;\n#define SCALE_DEFAULT 2\n"
SOURCE = r"""
#include <scriptc_extension.h>
#include "checked.h"

sc_status add(const DLTensor *a, const DLTensor *b, double factor, DLTensor *out) {
    SC_CHECK_DTYPE(a, "float32");
    SC_CHECK_SAME_SIZE(a, b);
    SC_CHECK_CONTIGUOUS(a);
    SC_CHECK_CONTIGUOUS(b);
    SC_RESIZE_AS(out, a);
    const float *x = SC_DATA(float, a), *y = SC_DATA(float, b);
    float *to = SC_DATA(float, out);
    for (int64_t i = 0; i < sc_numel(a); i++) to[i] = x[i] + (float)factor * y[i];
    return SC_OK;
}
void twice(DLTensor *x) { THFloatTensor_mul(x, x, 2); }
int count(const DLTensor *x, const DLTensor *y) { return x == y ? -1 : (int)(sc_numel(x) + sc_numel(y)); }
long long numbers(signed char small, unsigned short middle, uint64_t large, _Bool flag, float real, const char *text) {
    return small + middle + (long long)(large >> 60) + flag + (long long)real + (long long)strlen(text);
}
double half(int n) { return n / 2.0; }
uint64_t largest(void) { return UINT64_MAX; }
bool is_even(int64_t n) { return n % 2 == 0; }
sc_status fails(int how) {
    if (how == 1) return sc_fail("failed with %d \xc3\xa9", how);
    if (how == 2) return sc_fail_as("ValueError", "%s", "a value");
    if (how == 3) return sc_fail_as("OddError", "odd");
    if (how == 4) return 7;
    if (how == 5) THError("left at %d", how);
    if (how == 6) THArgCheck(how == 5, 2, "not %d", 5);
    if (how == 7) { sc_fail("first"); sc_fail("second"); return SC_OK; }
    return SC_OK;
}
int flattens(DLTensor *x) {
    const int64_t n = sc_numel(x);
    return sc_resize(x, 1, &n);
}
int const_resized(const DLTensor *x) { return sc_resize((DLTensor *)x, 0, NULL); }
void strides(const DLTensor *x, DLTensor *out) {
    THLongTensor_resize1d(out, x->ndim);
    for (int i = 0; i < x->ndim; i++) THLongTensor_set1d(out, i, x->strides[i]);
}
int calls(void) { static int n; return ++n; }
#ifdef WITH_SCALE
int scale(void) { return WITH_SCALE; }
#endif
"""


def write_sources(folder: Path, source: str = SOURCE, header: str = HEADER) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    (folder / "checked.c").write_text(source)
    (folder / "checked.h").write_text(header)
    (folder / "more.h").write_text(MORE)
    return {"headers": "checked.h", "sources": ["checked.c"], "relative_to": folder / "build.py"}


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory, compiles_once: None) -> Any:
    given = write_sources(tmp_path_factory.mktemp("checked"))
    return scriptc.extension("checked", define_macros=[("WITH_SCALE", "3"), ("PLAIN", None)], **given)


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory, compiles_once: None) -> Path:
    """Return a folder with the tutorial's files, built."""
    folder = tmp_path_factory.mktemp("tutorial") / "script"
    shutil.copytree(TUTORIAL, folder, ignore=shutil.ignore_patterns("_ext", "__pycache__"))
    run([folder / "build.py"])
    return folder


def run(command: list[Any], **options: Any) -> str:
    done = fresh_python.run(command, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- the tutorial ----


def test_tutorial_runs(tutorial: Path) -> None:
    printed = run([tutorial / "test.py"], cwd=tutorial)
    half = len(printed) // 2
    assert printed[:half] == printed[half:] and "125." in printed  # the module's sum, and torch's
    built = {path.relative_to(tutorial / "_ext").as_posix() for path in (tutorial / "_ext").rglob("*") if path.is_file()}
    kept = {name for name in built if "__pycache__" not in name}
    assert {"__init__.py", "my_lib/__init__.py", "my_lib/_my_lib.json"} < kept and len(kept) == 4


def test_tutorial_calls_the_functions(tutorial: Path) -> None:
    """The functions return 1 and 0; `backward` of an instance is that of autograd. No compiler is needed."""
    code = """
import torch
from _ext import my_lib
from scriptc.autograd import Function
from functions.add import MyAddFunction
a, b, out = torch.ones(2), torch.ones(2), torch.FloatTensor()
print(my_lib.my_lib_add_forward(a, b, out), out.tolist())
print(my_lib.my_lib_add_forward(a, torch.ones(3), out), out.tolist())
print(my_lib.my_lib_add_backward(out, a), a.tolist())
class Both(MyAddFunction):
    def forward(self, a, b):
        self.save_for_backward(a, b)
        return super().forward(a, b)
    def backward(self, grad):
        assert self.needs_input_grad == (True, True) and len(self.saved_tensors) == 2
        return super().backward(grad), super().backward(grad)
x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
Both()(x, y).sum().backward()
print(x.grad.tolist(), y.grad.tolist())
for wrong in (lambda: MyAddFunction()(x, y).sum().backward(), lambda: my_lib.my_lib_add_backward(a, a.double())):
    try:
        wrong()
    except (RuntimeError, TypeError) as e:
        print(e)
print(my_lib.__all__, my_lib.my_lib_add_backward)
"""
    env = {"PATH": "", "PYTHONPATH": str(ROOT), "SCRIPTC_CACHE_DIR": "/proc/none"}
    assert run(["-c", code], cwd=tutorial, env=env).splitlines() == [
        "1 [2.0, 2.0]", "0 [2.0, 2.0]", "1 [1.0, 1.0]", "[1.0, 1.0] [1.0, 1.0]",
        "function MyAddFunction returned an incorrect number of gradients (expected 2, got 1)",
        "my_lib_add_backward: grad_input must be a tensor of float32 (THFloatTensor *), but is one of float64",
        "['my_lib_add_forward', 'my_lib_add_backward'] <C function int my_lib_add_backward(THFloatTensor * grad_output, "
        "THFloatTensor * grad_input)>",
    ]  # fmt: skip


def test_with_cuda_needs_nvcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "find_nvcc", lambda: None)
    given = {"headers": "src/my_lib.h", "sources": ["src/my_lib.c"], "relative_to": TUTORIAL / "build.py"}
    with pytest.raises(scriptc.ExtensionError, match="with_cuda needs nvcc"):
        scriptc.create_extension("_ext.my_lib", define_macros=[("WITH_CUDA", None)], with_cuda=True, **given).build()


@pytest.mark.slow
@pytest.mark.skipif(cuda.find_nvcc() is None, reason="no nvcc")
def test_cuda_code_compiles(tmp_path: Path) -> None:
    """The tutorial's functions for CUDA refuse tensors on the CPU. This torch may have no CUDA device to call them on."""
    names = {"headers": ["src/my_lib.h", "src/my_lib_cuda.h"], "sources": ["src/my_lib.c", "src/my_lib_cuda.c"]}
    macros = [("WITH_CUDA", None)]
    made: Any = scriptc.extension("my_lib", define_macros=macros, relative_to=TUTORIAL, with_cuda=True, **names)
    x = torch.ones(2)
    assert made.my_lib_add_backward(x + 1, x) == 1
    with pytest.raises(TypeError, match=r"grad_output must be a tensor on a CUDA device \(THCudaTensor \*\), but"):
        made.my_lib_add_backward_cuda(x, x)
    source = """
    #include <scriptc_extension.h>
    __global__ void kernel(float *x) { x[threadIdx.x] = 1; }
    extern "C" int ones(DLTensor *x) { kernel<<<1, 2>>>(SC_DATA(float, x)); return cudaGetLastError(); }
    """
    given = write_sources(tmp_path, "", "int ones(DLTensor *x);\n")
    (tmp_path / "kernel.cu").write_text(source)
    ones: Any = scriptc.extension("ones", **{**given, "sources": "kernel.cu"}, with_cuda=True)
    assert "DLTensor * x" in str(ones.ones.prototype)
    if Path("/dev/nvidia0").exists():
        program, library = tmp_path / "program", made.my_lib_add_forward.library
        source = ROOT / "tests" / "data" / "extension_cuda.cu"
        nvcc = [str(cuda.find_nvcc()), f"-I{INCLUDE_DIR / 'extension'}", str(source), "-o", str(program), "-ldl"]
        subprocess.run(nvcc, check=True)
        done = subprocess.run([program, library.path, library.key], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


# ---- calls ----


def test_arguments_and_results(checked: Any) -> None:
    a, b, out = torch.randn(2, 3), torch.randn(2, 3), torch.empty(0)
    version = out._version
    assert checked.add(a, b, 2, out) is None
    torch.testing.assert_close(out, a + 2 * b)
    assert out._version > version and a._version == 0
    x = torch.arange(6.0).view(2, 3).t()
    checked.twice(x)
    assert x.tolist() == [[0, 6], [2, 8], [4, 10]]
    assert checked.count(a, a) == -1 and checked.count(a, b) == 12
    assert checked.numbers(-3, 65535, 2**64 - 1, True, 2.5, "añb") == -3 + 65535 + 15 + 1 + 2 + 4
    assert checked.numbers(np.int8(-3), 0, 0, False, np.float32(1), "") == -2
    assert checked.half(3) == 1.5 and checked.is_even(4) is True and checked.is_even(-1) is False
    assert checked.scale() == 3


def test_layout_of_tensors(checked: Any) -> None:
    out = torch.empty(0, dtype=torch.int64)
    for x in (torch.empty(2, 3, 4).permute(2, 0, 1), torch.empty(3).expand(5, 3), torch.tensor(1.0), torch.empty(0, 4)):
        checked.strides(x, out)
        assert out.tolist() == list(x.stride())
    base = torch.arange(10.0)
    checked.twice(base[2:5])
    assert base.tolist() == [0, 1, 4, 6, 8, 5, 6, 7, 8, 9]


def test_resizing_is_that_of_torch(checked: Any) -> None:
    base = torch.arange(6.0)
    x = base.view(2, 3)
    assert checked.flattens(x) == 0 and x.shape == (6,) and x.data_ptr() == base.data_ptr()
    fixed = torch.from_numpy(np.zeros(2, dtype=np.float32))
    with pytest.raises(RuntimeError, match="resize storage that is not resizable"):
        checked.add(torch.ones(3), torch.ones(3), 1, fixed)
    with pytest.raises(RuntimeError, match="passed as const cannot be resized"):
        checked.const_resized(torch.ones(3))


FAILURES = [
    (1, RuntimeError, "^failed with 1 é$"), (2, ValueError, "^a value$"), (3, RuntimeError, "^OddError: odd$"),
    (4, RuntimeError, "^fails failed with status 7 and left no message$"), (5, RuntimeError, "^left at 5$"),
    (6, RuntimeError, "^invalid argument 2: not 5$"), (7, RuntimeError, "^first$"),
]  # fmt: skip


@pytest.mark.parametrize("how, error, message", FAILURES)
def test_messages_become_exceptions(checked: Any, how: int, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        checked.fails(how)
    assert checked.fails(0) is None  # the message is gone


def test_wrong_size_raises_its_message(checked: Any) -> None:
    with pytest.raises(RuntimeError, match=r"^a and b have different sizes: \[2, 3\] and \[3\]$"):
        checked.add(torch.ones(2, 3), torch.ones(3), 1, torch.empty(0))


def test_threads_have_messages_of_their_own(checked: Any) -> None:
    found: list[str] = []

    def fail(how: int) -> None:
        for _ in range(200):
            with pytest.raises(Exception) as info:
                checked.fails(how)
            found.append(f"{how}{info.value}")

    threads = [threading.Thread(target=fail, args=(how,)) for how in (1, 2, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {"1failed with 1 é", "2a value", "5left at 5"} and len(found) == 600


A = torch.ones(2)
REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda e: e.twice(), TypeError, r"twice\(\) takes 1 argument, but 0 were given: void twice\(DLTensor \* x\)"),
    (lambda e: e.twice(None), TypeError, r"twice: x must be a tensor \(DLTensor \*\), not NoneType"),
    (lambda e: e.twice([1.0]), TypeError, "not list"),
    (lambda e: e.twice(np.ones(2)), TypeError, "not ndarray"),
    (lambda e: e.half(1.5), TypeError, r"half: n must be an int \(int\), not float"),
    (lambda e: e.half(torch.tensor(2)), TypeError, "not Tensor"),
    (lambda e: e.half(2**31), OverflowError, "half: n is 2147483648, which does not fit int"),
    (lambda e: e.half(2**70), OverflowError, "which does not fit int"),
    (lambda e: e.numbers(-129, 0, 0, True, 1, ""), OverflowError, "small is -129, which does not fit signed char"),
    (lambda e: e.numbers(0, -1, 0, True, 1, ""), OverflowError, "middle is -1"),
    (lambda e: e.numbers(0, 0, -1, True, 1, ""), OverflowError, "large is -1, which does not fit uint64_t"),
    (lambda e: e.numbers(0, 0, 0, 1, 1, ""), TypeError, r"flag must be a bool \(_Bool\), not int"),
    (lambda e: e.numbers(0, 0, 0, True, 1e39, ""), OverflowError, r"real is 1e\+39, which does not fit float"),
    (lambda e: e.numbers(0, 0, 0, True, "1", ""), TypeError, "real must be a number"),
    (lambda e: e.numbers(0, 0, 0, True, 1, "a\0b"), ValueError, "text has a NUL character"),
    (lambda e: e.numbers(0, 0, 0, True, 1, b"a"), TypeError, "text must be a str"),
    (lambda e: e.largest(), OverflowError, "largest returned an int that does not fit"),
    (lambda e: e.twice(A.to_sparse()), TypeError, "x is a tensor of the layout torch.sparse_coo"),
    (lambda e: e.twice(torch.ones(2, device="meta")), RuntimeError, "x is on the device meta"),
    (lambda e: e.twice(torch.ones(2, dtype=torch.complex64).conj()), RuntimeError, "lazy conjugate view"),
    (lambda e: e.twice(torch.ones(2, dtype=torch.complex64).conj().imag), RuntimeError, "lazy negative view"),
    (lambda e: e.twice(torch.quantize_per_tensor(A, 1.0, 0, torch.qint8)), TypeError, "x is quantized"),
    (lambda e: e.twice(torch.ones(2, dtype=torch.float8_e4m3fn)), TypeError, "float8_e4m3fn, which C functions"),
    (lambda e: e.twice(torch.ones(2, requires_grad=True)), RuntimeError, "x requires grad, and autograd does not see"),
    (lambda e: torch.func.vmap(e.twice)(torch.ones(2, 2)), RuntimeError, "x is a tensor of torch.func"),
    (lambda e: e.add(A, A, 1, torch.empty(0, dtype=torch.float64).to_sparse()), TypeError, "out is a tensor of the"),
    (lambda e: e.add(A.double(), A, 1, A), RuntimeError, "a must be a tensor of float32, but is one of float64"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_no_function_gets(checked: Any, case: int) -> None:
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        call(checked)


def test_gradients_by_an_autograd_function(checked: Any) -> None:
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
            out = a.new()
            checked.add(a, b, 1, out)
            return out

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
            doubled = grad.clone()
            checked.twice(doubled)
            return grad, doubled

    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    Add.apply(a, b).backward(torch.arange(3.0))
    assert a.grad is not None and b.grad is not None
    assert a.grad.tolist() == [0, 1, 2] and b.grad.tolist() == [0, 2, 4]


def test_a_written_tensor_that_was_saved_is_seen_by_autograd(checked: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    checked.twice(y.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# ---- headers ----

REFUSED_HEADERS = [
    ("int f(float *data);", r"h:1: data of f is of the type `float \*`.*take a `DLTensor \*`"),
    ("struct s; int f(int, struct s *);", r"h:1: argument 2 of f is of the type `struct s \*`"),
    ("\nint f(const char *format, ...);", r"h:2: f takes any number of arguments"),
    ("DLTensor *f(void);", "h:1: f returns a pointer"),
    ("int f(DLTensor t);", "h:1: t of f is of the type `DLTensor`"),
    ("int f(long double x);", "h:1: x of f is of the type `long double`"),
    ("int f(", "cannot read the declarations.*h:"),
    ("int f(missing_t x);", "cannot read the declarations.*h:1"),
    ("typedef int odd;", "declare no function"),
    ('#include "absent.h"', r"(?s)does not compile.*absent.h: No such file"),
]


@pytest.mark.parametrize("header, message", REFUSED_HEADERS)
def test_refused_headers(tmp_path: Path, header: str, message: str) -> None:
    given = write_sources(tmp_path, "int unused_variable;\n", header)
    with pytest.raises(scriptc.ExtensionError, match=message):
        scriptc.extension("refused", **given)


def test_parameters_of_all_spellings(tmp_path: Path) -> None:
    header = """
    typedef DLTensor tensor; typedef const tensor *input; typedef enum { ONE } kind;
    extern int f(input a, tensor *const restrict b, const THLongTensor *, unsigned, kind k, long unsigned int n)
        __attribute__((nonnull));
    """
    source = f'#include <scriptc_extension.h>\n{header}\nint f(input a, tensor *const restrict b, const THLongTensor *c, ' \
        'unsigned d, kind k, long unsigned int n) { return a && b && c ? (int)d + (int)k + (int)n : -1; }\n'  # fmt: skip
    made = scriptc.extension("spelled", **write_sources(tmp_path, source, header))
    described = [(name, t.kind, t.written, t.bits) for name, t in made.f.prototype.parameters]  # type: ignore[attr-defined]
    assert described == [
        ("a", "tensor", False, 0), ("b", "tensor", True, 0), ("argument3", "tensor", False, 0),
        ("argument4", "int", False, 32), ("k", "int", False, 32), ("n", "int", False, 64),
    ]  # fmt: skip
    x = torch.ones(1)
    assert made.f(x, x, torch.ones(1, dtype=torch.int64), 1, 2, 3) == 6  # type: ignore[attr-defined]


# ---- building ----


def built(folder: Path, source: str, header: str = "int f(void);\n", **options: Any) -> Extension:
    given = write_sources(folder, f"#include <scriptc_extension.h>\n{source}", header)
    return scriptc.extension("built", **{**given, **options})


def test_an_edit_of_any_file_builds_again(tmp_path: Path) -> None:
    source = '#include "more.h"\nint f(void) { return SCALE_DEFAULT; }\n'
    first: Any = built(tmp_path, source)
    again: Any = built(tmp_path, source)
    assert first.f() == again.f() == 2 and first.f.library == again.f.library
    given = {"headers": "checked.h", "sources": ["checked.c"], "relative_to": tmp_path / "x.py"}
    (tmp_path / "more.h").write_text(MORE.replace("2", "5"))
    edited: Any = scriptc.extension("built", **given)
    assert edited.f() == 5 and first.f() == 2  # what is loaded stays
    (tmp_path / "checked.c").write_text("int f(void) { return 6; }\n")
    other: Any = scriptc.extension("built", **given)
    assert other.f() == 6


def test_a_process_has_the_variables_of_c_once(checked: Any, tmp_path: Path) -> None:
    before = checked.calls()
    for _ in range(2):
        given = write_sources(Path(checked.add.prototype.where).parent)
        again: Any = scriptc.extension("checked", define_macros=[("WITH_SCALE", "3"), ("PLAIN", None)], **given)
    assert again.calls() == before + 1


def test_errors_of_the_compiler_are_shown(tmp_path: Path) -> None:
    with pytest.raises(scriptc.ExtensionError, match=r"(?s)extension built does not compile.*checked.c:2.*no_such"):
        built(tmp_path, "int f(void) { return no_such; }\n")
    with pytest.raises(scriptc.ExtensionError, match=r"(?s)does not compile.*implicit.*absent"):
        built(tmp_path, "int f(void) { return absent(); }\n")
    with pytest.raises(scriptc.ExtensionError, match=r"(?s)does not compile.*undefined.*f"):
        built(tmp_path, "int g(void) { return 1; }\n")
    with pytest.raises(scriptc.ExtensionError, match=r"(?s)does not compile.*cannot find -lno_such_library"):
        built(tmp_path, "int f(void) { return 1; }\n", libraries=["no_such_library"])


def test_wrong_descriptions(tmp_path: Path) -> None:
    given = write_sources(tmp_path, "int f(void) { return 1; }\n", "int f(void);\n")
    with pytest.raises(scriptc.ExtensionError, match="names gone.c, but there is no file"):
        scriptc.extension("x", **{**given, "sources": "gone.c"})
    (tmp_path / "kernel.cu").write_text("")
    with pytest.raises(scriptc.ExtensionError, match="is CUDA: give with_cuda=True"):
        scriptc.extension("x", **{**given, "sources": "kernel.cu"})
    with pytest.raises(scriptc.ExtensionError, match="is no C file"):
        scriptc.extension("x", **{**given, "sources": "more.h"})
    with pytest.raises(scriptc.ExtensionError, match="needs a header and a source"):
        scriptc.extension("x", **{**given, "sources": []})
    with pytest.raises(ValueError, match="cannot name an extension"):
        scriptc.extension("a b", **given)
    with pytest.raises(ValueError, match="no pair of a name and a value"):
        scriptc.extension("x", **given, define_macros=["WITH_CUDA"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="no name of a module"):
        scriptc.create_extension("_ext.a-b", **given)


def test_paths_beyond_ascii_and_libraries(tmp_path: Path) -> None:
    folder = tmp_path / "Ünï cödé"
    other = folder / "lib"
    other.mkdir(parents=True)
    (other / "ten.c").write_text("int ten(void) { return 10; }\n")
    (other / "ten.h").write_text("int ten(void);\n")
    toolchain.compile_object(other / "ten.c", ["-fPIC"], other / "ten.o")
    subprocess.run(["ar", "rcs", other / "libten.a", other / "ten.o"], check=True)
    made: Any = built(folder, '#include "ten.h"\nint f(void) { return ten(); }\n', include_dirs=["lib"],
                      library_dirs=["lib"], libraries=["ten", "m"], extra_compile_args=["-O0"])  # fmt: skip
    assert made.f() == 10
    with pytest.raises(scriptc.ExtensionError, match="Ünï cödé/checked.h:1: x of f"):
        built(folder, "int f(void *x) { return !x; }\n", "int f(void *x);\n")


@pytest.mark.usefixtures("compiles_once_in_test")
def test_two_processes_build_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTC_CACHE_DIR", str(tmp_path / "cache"))
    given = write_sources(tmp_path / "x", "#include <scriptc_extension.h>\nint f(void) { return 1; }\n", "int f(void);\n")
    builder = scriptc.create_extension("_ext.raced", verbose=False, **given)
    forks = multiprocessing.get_context("fork")
    running = [forks.Process(target=builder.build) for _ in range(2)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    assert [each.exitcode for each in running] == [0, 0]
    assert len([*(tmp_path / "x" / "_ext" / "raced").glob("*raced*")]) == 2  # the description and the library


def test_an_interrupted_build_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = extension_library.link_shared

    def interrupted(*args: Any) -> None:
        raise KeyboardInterrupt

    source = "int f(void) { return 77; }\n"
    monkeypatch.setattr(extension_library, "link_shared", interrupted)
    with pytest.raises(KeyboardInterrupt):
        built(tmp_path, source)
    monkeypatch.setattr(extension_library, "link_shared", link)
    made: Any = built(tmp_path, source)
    assert made.f() == 77


def test_modules_of_others_stay(tmp_path: Path) -> None:
    given = write_sources(tmp_path, "int f(void) { return 1; }\n", "int f(void);\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("x = 1\n")
    with pytest.raises(scriptc.ExtensionError, match="was not written by scriptc.create_extension"):
        scriptc.create_extension("mine", verbose=False, **given).build()
    assert (tmp_path / "mine" / "__init__.py").read_text() == "x = 1\n"


@pytest.mark.slow
def test_helpers_under_the_sanitizers(tmp_path: Path) -> None:
    """A C program calls the functions of scriptc_th.h on tensors of its own, contiguous and not."""
    main, program = ROOT / "tests" / "data" / "extension_th.c", tmp_path / "program"
    sources = [main, *sorted((SOURCE_DIR / "extension").glob("*.c"))]
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-g", *toolchain.SANITIZE_FLAGS]
    command = [*toolchain.find_compiler().command, *flags, f"-I{INCLUDE_DIR / 'extension'}", *map(str, sources), "-lm"]
    subprocess.run([*command, "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ok\n"
