"""@{name}: compiled code called from Python on numpy arrays, without torch. Made by scriptc.

`pip install` makes this file the module. It loads the library that was built then.
"""

from importlib import import_module

_loader = import_module(".python.@{name}", __name__)
Model, load = _loader.Model, _loader.load

__all__ = ["Model", "load"]
