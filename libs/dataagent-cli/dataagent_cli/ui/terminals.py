"""What the terminal we are in can do, by what it says of itself in the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from dataagent_core.config.settings import environment

Graphics = Literal["kitty", "sixel"]
_KITTY_PROGRAMS = ("ghostty", "wezterm")
_SIXEL_PROGRAMS = ("mintty", "contour", "blackbox", "rio")
_SIXEL_TERMS = ("foot", "mlterm", "yaft", "contour")
Choice = Literal[Graphics, "auto", "off"]
"""What somebody says of a terminal that does not say it, such as one inside tmux."""


def reflows(env: Mapping[str, str] | None = None) -> bool:
    """Whether long lines are broken anew when the window gets narrower."""
    env = environment() if env is None else env
    term = env.get("TERM", "")
    is_old = "XTERM_VERSION" in env or term == "linux"
    return not is_old and (not term.startswith("screen") or "TMUX" in env)


def graphics(choice: Choice = "auto", env: Mapping[str, str] | None = None) -> Graphics | None:
    """How pictures are sent to the terminal; None where none could be seen."""
    match choice:
        case "off":
            return None
        case "auto":
            return _graphics(environment() if env is None else env)
        case _:
            return choice


def _graphics(env: Mapping[str, str]) -> Graphics | None:
    term, program = env.get("TERM", ""), env.get("TERM_PROGRAM", "").lower()
    if "TMUX" in env or term.startswith(("screen", "tmux")):
        return None  # they would not pass it on
    if term == "xterm-kitty" or "KITTY_WINDOW_ID" in env or program in _KITTY_PROGRAMS:
        return "kitty"
    if term.startswith(_SIXEL_TERMS) or program in _SIXEL_PROGRAMS:
        return "sixel"
    return None
