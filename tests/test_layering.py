"""Who imports whom: the table of the design, kept true. Also the size of files, and honest locations in passes."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {
    "scriptc": "scriptc",
    "frontend": "scriptc.frontend",
    "ir": "scriptc.ir",
    "backend_c": "scriptc.backend_c",
    "runtime": "scriptc.runtime",
}
MAY_IMPORT = {  # by folder: folders of ours beside itself
    "ir": set(),
    "runtime": set(),
    "frontend": {"ir"},
    "backend_c": {"ir", "runtime"},
    "scriptc": set(PACKAGES),
}
FOLDERS_OF_SCRIPTC = (
    "extensions", "driver", "warm_start", "dispatch", "inspect", "operators", "package", "api", "onnx", "cli", "dynamo",
)  # fmt: skip
CODE = {".py", ".c", ".h", ".hpp", ".inc", ".lark"}
CODE_FOLDERS = [*PACKAGES, "tests", "benchmarks", "examples"]
MAX_LINES = 600


@pytest.fixture(scope="module", autouse=True)
def forgotten_trees() -> Iterator[None]:
    """Forget what was parsed here: the garbage collector would walk it in all later tests."""
    yield
    for kept in (parsed, imports, front_end_classes):
        kept.cache_clear()


def python_files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def module_of(path: Path) -> str:
    """The dotted name under which the file is imported; a package's __init__ keeps that part, as its own child."""
    relative = path.relative_to(ROOT).with_suffix("")
    return ".".join([PACKAGES[relative.parts[0]], *relative.parts[1:]])


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


@functools.cache
def imports(path: Path, *, top_level: bool = False) -> tuple[tuple[str, int], ...]:
    """(dotted name, line) of what a file imports: all of it, or what merely importing the file imports."""
    return tuple(_imports(path, top_level))


def _imports(path: Path, top_level: bool) -> Iterator[tuple[str, int]]:
    pending: list[ast.AST] = [parsed(path)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = module_of(path).split(".")[: -node.level] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((f"{source}.{alias.name}", node.lineno) for alias in node.names)
        elif top_level and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        elif top_level and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending.extend(node.orelse)
        else:
            pending.extend(ast.iter_child_nodes(node))


def folder_of(imported: str) -> str | None:
    """The folder of ours that an imported name lives in."""
    parts = imported.split(".")
    if parts[0] != "scriptc":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in PACKAGES and parts[1] != "scriptc" else "scriptc"


def is_from(imported: str, package: str) -> bool:
    return imported == package or imported.startswith(package + ".")


@pytest.mark.parametrize("folder", PACKAGES)
def test_folder_imports_only_what_the_table_allows(folder: str) -> None:
    allowed = MAY_IMPORT[folder] | {folder}
    leaks = [
        f"{path.relative_to(ROOT)}:{line}: imports {name}"
        for path in python_files(folder)
        for name, line in imports(path)
        if folder_of(name) not in allowed | {None}
    ]
    assert not leaks, "\n".join(leaks)


def test_only_the_interpreter_and_lazily_imports_torch_in_ir() -> None:
    users = {path.name for path in python_files("ir") if any(is_from(name, "torch") for name, _ in imports(path))}
    assert users <= {"interp.py", "op_references.py", "sign_references.py", "integer_references.py"}


@pytest.mark.parametrize("folder", ["ir", "backend_c", "runtime"])
def test_importing_a_folder_imports_no_torch(folder: str) -> None:
    eager = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in python_files(folder)
        for name, line in imports(path, top_level=True)
        if is_from(name, "torch")
        and path != ROOT / "runtime" / "tensors.py"  # what the in-process bridge asks of torch
    ]
    assert not eager, "torch is imported where the module is: " + ", ".join(eager)


def test_only_the_parser_imports_lark() -> None:
    files = [path for folder in PACKAGES for path in python_files(folder)]
    users = {path for path in files if any(is_from(name, "lark") for name, _ in imports(path))}
    assert users <= {ROOT / "ir" / "parser.py"}


def test_import_scriptc_loads_neither_torch_nor_lark() -> None:
    code = "import scriptc, scriptc.runtime, sys; print([name for name in ('torch', 'lark') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_source_file_is_too_long() -> None:
    files = [path for folder in CODE_FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in CODE]
    lengths = {str(path.relative_to(ROOT)): len(path.read_bytes().splitlines()) for path in files}
    long = {name: length for name, length in lengths.items() if length > MAX_LINES}
    assert not long, f"more than {MAX_LINES} lines: {long}"


def test_no_pass_invents_a_location() -> None:
    """A rewrite takes the location of the op it replaces; otherwise errors point nowhere."""
    invented = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in python_files("ir/passes")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"\bLoc\.unknown\b|\bUNKNOWN_LOC\b", line)
    ]
    assert not invented, ", ".join(invented)


FRONT_END = "scriptc.frontend"
PROTOCOL = "scriptc.frontend.reader.protocol"  # the forward declarations of the front end: it imports types alone


def module_imports(folder: str) -> dict[str, set[str]]:
    """Return the modules of a folder that each of them imports, for types and inside functions too."""
    names = {module_of(path).removesuffix(".__init__"): path for path in python_files(folder)}

    def module_behind(imported: str) -> str | None:
        if folder_of(imported) != folder:
            return None
        return next((name for name in (imported, imported.rpartition(".")[0]) if name in names), None)

    def own_files(name: str) -> Iterator[str]:
        """Yield the files that a package imports by their folder, as `frontend.kinds` does."""
        if "pkgutil.iter_modules(__path__)" in names[name].read_text():
            yield from (other for other in names if other.startswith(f"{name}."))

    found = {
        name: {*own_files(name), *(module_behind(imported) for imported, _ in imports(path))}
        for name, path in names.items()
    }
    return {name: {other for other in others if other and other != name} for name, others in found.items()}


@pytest.mark.parametrize("folder", ["frontend", "scriptc"])
def test_modules_have_no_import_cycle(folder: str) -> None:
    left = module_imports(folder)
    left.pop(PROTOCOL, None)
    while done := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in done}
    assert not left, f"these import one another: {sorted(left)}"


@pytest.mark.parametrize("position, folder", list(enumerate(FOLDERS_OF_SCRIPTC)))
def test_folders_of_scriptc_import_only_those_before_them(position: int, folder: str) -> None:
    allowed = {*FOLDERS_OF_SCRIPTC[: position + 1], *PACKAGES, "version"}
    leaks = [
        f"{path.relative_to(ROOT)}:{line}: imports {name}"
        for path in python_files(f"scriptc/{folder}")
        for name, line in imports(path)
        if is_from(name, "scriptc") and name.count(".") and name.split(".")[1] not in allowed
    ]
    assert not leaks, "\n".join(leaks)


def test_scriptc_has_no_folder_outside_that_order() -> None:
    folders = {path.parent.name for path in (ROOT / "scriptc").glob("*/__init__.py")}
    assert folders == set(FOLDERS_OF_SCRIPTC)


def test_decompositions_import_decompositions_alone() -> None:
    """Handlers run at compile time and use the reader; decompositions are read like the user's code. Names are constants."""
    shared = {"scriptc.frontend.library.registry", "scriptc.frontend.library.torch.dtype_names"}
    strangers = {
        name: others
        for name, found in module_imports("frontend").items()
        if name.endswith("_decomposed")
        and (others := {o for o in found if o not in shared and not o.endswith("_decomposed")})
    }
    assert not strangers


@functools.cache
def front_end_classes() -> dict[str, ast.ClassDef]:
    trees = [parsed(path) for path in python_files("frontend")]
    return {node.name: node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def test_classes_of_the_front_end_have_few_methods() -> None:
    classes = front_end_classes()

    def methods(name: str) -> set[str]:
        if name not in classes:
            return set()
        own = {item.name for item in classes[name].body if isinstance(item, ast.FunctionDef)}
        return own.union(*(methods(ast.unparse(base)) for base in classes[name].bases))

    assert not [name for name in classes if len(methods(name)) > 40]


def test_classes_of_the_front_end_inherit_from_what_they_are() -> None:
    """A class has at most one base of ours, which leads to the root of a family of data: no class collects code of others."""
    classes = front_end_classes()
    families = {"AbstractValue", "Plan", "Spec", "Contract", "Conflict"}

    def root(name: str) -> str:
        bases = [ast.unparse(base) for base in classes[name].bases if ast.unparse(base) in classes]
        assert len(bases) <= 1, name
        return root(bases[0]) if bases else name

    strangers = {name: root(name) for name in classes if root(name) not in families | {name}}
    assert not strangers


def kinds_of_values() -> set[str]:
    """Return the classes of abstract values."""
    bases = {name: [ast.unparse(b) for b in node.bases] for name, node in front_end_classes().items()}

    def is_value(name: str) -> bool:
        return name == "AbstractValue" or any(map(is_value, bases.get(name, ())))

    return {name for name in bases if is_value(name)}


def test_few_places_outside_of_values_ask_for_the_kind_of_a_value() -> None:
    """A value answers for itself: by `frontend.values.verbs`, or by a predicate of `frontend.values.abstract`."""
    kinds = kinds_of_values()
    found = []
    for path in python_files("frontend"):
        if path.parent == ROOT / "frontend" / "values":
            continue
        for node in ast.walk(parsed(path)):
            asked: ast.AST | None = None
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                asked = node.args[1]
            elif isinstance(node, ast.MatchClass):
                asked = node.cls
            if asked is not None and kinds & {n.id for n in ast.walk(asked) if isinstance(n, ast.Name)}:
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(found) < 100, "\n".join(found)
