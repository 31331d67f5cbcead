"""What all tests of whole calls go by."""

from __future__ import annotations

import os

import pytest

OPTIMIZE = int(os.environ.get("SCRIPTC_TEST_OPTIMIZE", "0"))  # where speed is not the point

# ASan keeps what is freed in quarantine, so resident memory says nothing under it.
without_asan = pytest.mark.skipif(os.environ.get("SCRIPTC_SANITIZE") == "1", reason="measures resident memory")
