"""python -m tests.linalg: counts the matrix decompositions whose samples all agree with eager, and says why others do not."""

from .measure.command import main
from .measure.linalg import MEASURE

main(MEASURE, __doc__)
