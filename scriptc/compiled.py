"""The module in which pickles find the functions and classes that restore compiled objects."""

from scriptc.api.compiled import _Store, recompiled

__all__ = ["_Store", "recompiled"]
