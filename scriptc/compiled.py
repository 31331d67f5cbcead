"""The module in which pickles find the functions and classes that restore compiled objects."""

from scriptc.api.compile import CompiledMethods as _Store
from scriptc.api.compile import recompiled

__all__ = ["_Store", "recompiled"]
