"""Defers the import of libraries until their first use, to start programs quickly.

`LazyModule` stands for a library in our own modules (see `data/arrow.py`). `install_lazy_modules`
does the same for modules that deepagents imports and our agents do not use (LangSmith's web types,
LangGraph's client of remote servers), which take a quarter of its import time: the first attribute
access loads the real module. A test fails if one of the names goes.
"""

from __future__ import annotations

import importlib
import sys
import threading
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


class LazyModule:
    """Stands for a module; what is taken from it is kept, so only the first look costs more."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, name: str) -> Any:  # Any: whatever the module has
        value = getattr(importlib.import_module(self.__dict__["_name"]), name)
        self.__dict__[name] = value
        return value


_LAZY_MODULES: dict[str, frozenset[str]] = {
    "langsmith.types": frozenset(),
    "langgraph_sdk": frozenset({"get_client", "get_sync_client"}),
    "langgraph_sdk.client": frozenset({"LangGraphClient", "SyncLangGraphClient"}),
}
"""By module, packages first; with the names that deepagents takes at once, if only to call them."""

_filling = threading.RLock()


def install_lazy_modules() -> None:
    """Put stand-ins where nothing is loaded yet. Call it before LangChain is imported."""
    for name in _LAZY_MODULES:
        if name not in sys.modules:
            _install(name)


def _install(name: str) -> None:
    spec = find_spec(name)  # loads the package above it, as any import would
    if spec is None:
        return
    module = module_from_spec(spec)
    module.__class__ = _UnloadedModule
    sys.modules[name] = module
    above, _, own = name.rpartition(".")
    if above:
        setattr(sys.modules[above], own, module)


class _UnloadedModule(ModuleType):
    """A module that has nothing yet. Its submodules can be imported all the same."""

    def __getattr__(self, name: str) -> Any:  # Any: whatever the module has
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name in _LAZY_MODULES[self.__name__] and "_is_begun" not in self.__dict__:
            return _LazyCallable(self.__name__, name)
        self._fill()
        return ModuleType.__getattribute__(self, name)

    def _fill(self) -> None:
        """Run the module's own code, once. It may meet itself half done, as in any circle."""
        with _filling:
            if "_is_begun" in self.__dict__:
                return
            self.__dict__["_is_begun"] = True
            try:
                importlib.reload(self)
            except BaseException:
                del self.__dict__["_is_begun"]
                raise
            self.__class__ = ModuleType  # pyright: ignore[reportAttributeAccessIssue] whole now


class _LazyCallable:
    """A function or class that was taken from a stand-in; to call it loads the real one."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module = importlib.import_module(self._module)
        if isinstance(module, _UnloadedModule):
            module._fill()  # pyright: ignore[reportPrivateUsage] of this file
        return getattr(module, self._name)(*args, **kwargs)
