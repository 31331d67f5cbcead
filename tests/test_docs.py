"""Links between the pages of the documentation lead somewhere, and so do the pages that code and tests name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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
