"""Kinds of values: a file for each, which answers the verbs of `frontend.values.verbs` that the kind supports."""

import importlib
import pkgutil

KINDS = tuple(importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
