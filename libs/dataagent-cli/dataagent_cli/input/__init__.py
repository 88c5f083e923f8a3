"""What a user types or pipes in."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dataagent_cli.input.piped import NotText, read_piped

if TYPE_CHECKING:
    from dataagent_cli.input.completion import LineCompleter
    from dataagent_cli.input.dialogs import Dialogs
    from dataagent_cli.input.keyboard import Keyboard, open_history
    from dataagent_cli.input.mentions import Mentions

_LAZY_MODULES = {
    "Dialogs": "dialogs",
    "Keyboard": "keyboard",
    "LineCompleter": "completion",
    "Mentions": "mentions",
    "open_history": "keyboard",
}
"""Names by module. They need prompt_toolkit, which one question in a script does not use."""

__all__ = [
    "Dialogs",
    "Keyboard",
    "LineCompleter",
    "Mentions",
    "NotText",
    "open_history",
    "read_piped",
]


def __getattr__(name: str) -> object:
    if name not in _LAZY_MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY_MODULES[name]}"), name)
