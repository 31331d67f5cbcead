"""Attributes of objects whose class finds them in Python code."""

from __future__ import annotations

from typing import Any


def has_attribute(owner: Any, name: str) -> bool:
    try:
        getattr(owner, name)
    except AttributeError:
        return False
    return True


def attribute_or(owner: Any, name: str, default: Any) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        return default
