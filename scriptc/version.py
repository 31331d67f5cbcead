"""The version of scriptc."""

__version__ = "0.1.0"
