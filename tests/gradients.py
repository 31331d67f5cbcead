"""python -m tests.gradients: counts the ops whose gradients agree with eager on all samples, and says why the others do not."""

from .measure.command import main
from .measure.gradients import MEASURE

main(MEASURE, __doc__)
