"""What a person or a program sees of a run: a drawn screen, plain text, or JSON lines."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dataagent_cli.ui.views import BufferedView, EventRenderer, JsonView, PlainRenderer, View

if TYPE_CHECKING:
    from dataagent_cli.ui.renderer import TerminalRenderer

_LOADED_WHEN_ASKED_FOR = {"TerminalRenderer": "renderer"}
"""By module: it draws with Rich, which plain text has no use for."""

__all__ = ["BufferedView", "EventRenderer", "JsonView", "PlainRenderer", "TerminalRenderer", "View"]


def __getattr__(name: str) -> object:
    if name not in _LOADED_WHEN_ASKED_FOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LOADED_WHEN_ASKED_FOR[name]}"), name)
