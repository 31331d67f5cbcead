"""The names by which pickles, also those of earlier versions, find what restores compiled objects."""

from scriptc.api.compile import CompiledMethods as _Store
from scriptc.api.compile import recompiled

__all__ = ["_Store", "recompiled"]
