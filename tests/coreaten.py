"""python -m tests.coreaten: counts the overloads of core ATen that agree with eager, and says why the others do not."""

from .measure.command import main
from .measure.coreaten import MEASURE

main(MEASURE, __doc__)
