"""What all tests of whole calls go by, and which of them `make test` leaves to `make test-all`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

OPTIMIZE = int(os.environ.get("SCRIPTC_TEST_OPTIMIZE", "0"))  # where speed is not the point

# ASan keeps what is freed in quarantine, so resident memory says nothing under it.
without_asan = pytest.mark.skipif(os.environ.get("SCRIPTC_SANITIZE") == "1", reason="measures resident memory")


def sweep(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Mark all parameters of a sweep as slow but `quick`, which stand for them in `make test`."""
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]
