"""What all tests of whole calls go by."""

from __future__ import annotations

import os

OPTIMIZE = int(os.environ.get("SCRIPTC_TEST_OPTIMIZE", "0"))  # where speed is not the point
