"""Links between pages lead somewhere, pages that code and tests name exist, and the page of the API is up to date."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from measure.report import not_passing, reported

ROOT = Path(__file__).parent.parent
FOLDERS = ("docs", "ir", "examples", "scriptc", "frontend", "backend_c", "runtime", "tests", "benchmarks")
TEXTS = {".md", ".py", ".c", ".h", ".inc"}
PAGES = sorted([*ROOT.glob("*.md"), *(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.md"))])
NAMES = [str(p.relative_to(ROOT)) for p in PAGES]


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub spells them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_pages_that_files_name_exist() -> None:
    files = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in TEXTS]
    for path in [*files, *ROOT.glob("*.md")]:
        for name in re.findall(r"\bdocs/[\w/-]+\.\w+", path.read_text()):
            assert (ROOT / name).exists(), f"{path}: {name}"


@pytest.fixture(scope="module", name="generator")
def generator_fixture() -> Any:
    spec = importlib.util.spec_from_file_location("generate_api", ROOT / "docs" / "generate_api.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_api_is_up_to_date(generator: Any) -> None:
    assert generator.PAGE.read_text() == generator.text(), "run python docs/generate_api.py"


def test_what_is_public_has_a_docstring(generator: Any) -> None:
    for name, value in generator.public_members():
        first = (inspect.getdoc(value) or "").splitlines()[:1]
        assert first and first[0][0].isupper(), name


def test_the_page_of_operators_names_what_does_not_pass() -> None:
    page = (ROOT / "docs" / "reference" / "operators.md").read_text()
    for title in reported():
        for name in not_passing(title):
            assert f"`{name}`" in page, name


def test_files_that_pages_name_exist() -> None:
    named = re.compile(r"`((?:frontend|ir|backend_c|runtime|scriptc|tests|benchmarks|examples)/[\w/.-]+)`")
    for page in [p for p in PAGES if "templates" not in p.parts]:  # a template's paths are those of a package
        for name in named.findall(page.read_text()):
            assert "NAME" in name or (ROOT / name).exists(), f"{page}: {name}"
