"""How a run is shown: on a screen, as plain text, or as JSON lines."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dataagent_cli.ui.views import BufferedView, EventRenderer, JsonView, PlainRenderer, View

if TYPE_CHECKING:
    from dataagent_cli.ui.renderer import TerminalRenderer

_LAZY_MODULES = {"TerminalRenderer": "renderer"}
"""Names by module. It needs Rich, which plain text does not use."""

__all__ = ["BufferedView", "EventRenderer", "JsonView", "PlainRenderer", "TerminalRenderer", "View"]


def __getattr__(name: str) -> object:
    if name not in _LAZY_MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY_MODULES[name]}"), name)
