"""Cores over a home of their own, as the tests of runs use them."""

from ..runs.conftest import chat_in, home, make_settings

__all__ = ["chat_in", "home", "make_settings"]
