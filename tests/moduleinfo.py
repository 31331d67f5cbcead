"""python -m tests.moduleinfo: counts the modules of torch.nn that agree with eager, and says why the others do not."""

from .measure.command import main
from .measure.modules import MEASURE

main(MEASURE, __doc__)
