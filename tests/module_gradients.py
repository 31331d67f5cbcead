"""python -m tests.module_gradients: counts the modules whose gradients agree with eager, and says why the others do not."""

from .measure.command import main
from .measure.module_gradients import MEASURE

main(MEASURE, __doc__)
