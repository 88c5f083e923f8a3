"""The line below the prompt."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from prompt_toolkit.utils import get_cwidth

from dataagent_cli.input.toolbar import toolbar_of
from dataagent_core.config import Prices, SessionState
from dataagent_core.session.types import DEFAULT_TITLE, Session

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def conversation(title: str | None = None) -> Any:
    """What the line reads of a conversation; a real one would need a host."""
    session = None
    if title is not None:
        session = Session("0badcafe-1111", "t", "ann", "agent", NOW, NOW, title=title)
    return SimpleNamespace(state=SessionState(), session=session, agent="sql", chosen_model=None)


def line(talk: Any, columns: int = 80, prices: Prices | None = None) -> str:
    drawn = toolbar_of(talk, model="offline", prices=prices)(columns)
    return "".join(piece[1] for piece in drawn)


def test_it_says_the_mode_who_answers_and_which_conversation() -> None:
    talk = conversation()
    assert line(talk) == " manual: asks first  offline · sql · new conversation"
    talk.state.switch("plan")
    talk.chosen_model = "openai:x"
    assert line(talk) == " PLAN: nothing is changed  openai:x · sql · new conversation"
    assert line(conversation(DEFAULT_TITLE)).endswith("sql · 0badcafe")
    assert line(conversation("销售")).endswith("sql · 0badcafe 销售")


def test_it_says_what_was_used_and_what_that_costs() -> None:
    talk = conversation("x")
    for _ in range(2):
        talk.state.count({"input_tokens": 1000, "output_tokens": 500, "total_tokens": 1500})
    assert " · 3,000 tokens · 0badcafe" in line(talk)
    assert " · 3,000 tokens · $0.0120 · " in line(talk, prices=Prices(2.0, 8.0, "USD"))


def test_it_fits_any_window() -> None:
    talk = conversation("一个很长的标题" * 10)
    for columns in (120, 80, 40, 22):
        assert get_cwidth(line(talk, columns)) <= columns
