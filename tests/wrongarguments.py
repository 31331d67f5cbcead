"""python -m tests.wrongarguments: counts the ops that raise what eager raises where arguments do not fit, and says why others
do not."""

import sys
from pathlib import Path

from .measure.command import main

sys.path.append(str(Path(__file__).parent))  # of a helper of the tests, which import the measure, too

from .measure.wrong_arguments import MEASURE  # noqa: E402

main(MEASURE, __doc__)
