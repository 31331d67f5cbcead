"""Tables of expressions of which each is tried by itself, in few functions: what each gives, or which error it raises."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from statements import agree, module_of
from three_ways import Args

_HEAD = "import math\n\nimport torch\nimport torch.nn.functional as F\n\n\n"
_KINDS = "IndexError ZeroDivisionError OverflowError TypeError ValueError NotImplementedError RuntimeError".split()


def groups(expressions: list[str], size: int = 12) -> Iterator[list[str]]:
    """Cut a table into parts that are compiled as one function each."""
    yield from (expressions[k : k + size] for k in range(0, len(expressions), size))


def trying(expressions: list[str], parameters: tuple[str, ...], messages: bool) -> str:
    """Return the text of a function that returns a value and an error, one of them None, for each expression.

    An expression may stand behind statements (`x[0] = 1; x`): tensors among the parameters are cloned in front of it.
    """
    lines = [_HEAD + f"def tried({', '.join(parameters)}):"]
    for i, expression in enumerate(expressions):
        lines.append(f"    r{i}, e{i} = None, None")
        *before, value = [part.strip() for part in expression.split(";")]
        lines += ["    try:", *(f"        {part}" for part in before), f"        r{i} = {value}"]
        for kind in _KINDS:
            error = f'"{kind}: " + str(error)' if messages else f'"{kind}"'
            lines += [f"    except {kind}{' as error' if messages else ''}:", f"        e{i} = {error}"]
    lines.append(f"    return [{', '.join(f'(r{i}, e{i})' for i in range(len(expressions)))}]")
    return "\n".join(lines) + "\n"


def agree_on(
    expressions: list[str], given: dict[str, Any], directory: Path, *, messages: bool = False, optimize: int = 0
) -> None:
    """Assert that compiled code and the interpreter do with each expression what eager does.

    Messages of errors are compared only where `messages` is true.
    """
    source = trying(expressions, tuple(given), messages)
    agree(module_of(source, directory).tried, [Args(tuple(given.values()))], optimize)
