"""python -m tests.opinfo: counts the ops whose samples all agree with eager, and says why the others do not."""

from .measure.command import main
from .measure.opinfo import MEASURE

main(MEASURE, __doc__)
