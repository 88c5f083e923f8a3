"""A library that is loaded when it is first used, and not when a module that may use it is.

A question that touches no data needs neither Arrow nor DuckDB, and they take as long to load as
the agent itself. Write the real import for the type checker beside it (see `data/arrow.py`).
"""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Stands for a module; what is taken from it is kept, so only the first look costs more."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, name: str) -> Any:  # Any: whatever the module has
        value = getattr(importlib.import_module(self.__dict__["_name"]), name)
        self.__dict__[name] = value
        return value
