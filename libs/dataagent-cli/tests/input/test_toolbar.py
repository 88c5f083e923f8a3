"""The line below the prompt."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from io import StringIO
from uuid import uuid4

import pytest_asyncio
from prompt_toolkit.utils import get_cwidth

from dataagent_cli.conversation import Conversation
from dataagent_cli.hitl import TerminalHITLHandler
from dataagent_cli.hosts.local import LocalHost
from dataagent_cli.input.keyboard import toolbar_of
from dataagent_cli.turn import TurnRunner
from dataagent_cli.ui import PlainRenderer
from dataagent_core.app.assembly import open_core
from dataagent_core.config import Prices, SessionState, Settings

SESSION = f"0badcafe{str(uuid4())[8:]}"


@pytest_asyncio.fixture
async def talk() -> AsyncGenerator[Conversation]:
    """A conversation with the agent `sql`, in which nothing was asked yet."""
    state = SessionState()
    handler = TerminalHITLHandler(state, is_interactive=False)
    async with open_core(Settings(sample_data=False)) as core:
        host = LocalHost(core, "ann")
        turns = TurnRunner(
            host, view=PlainRenderer(StringIO(), StringIO()), handler=handler, state=state
        )
        yield Conversation(host, turns, agent="sql", state=state)


def line(talk: Conversation, columns: int = 80, prices: Prices | None = None) -> str:
    drawn = toolbar_of(talk, model="offline", prices=prices)(columns)
    return "".join(piece[1] for piece in drawn)


async def test_it_says_the_mode_who_answers_and_which_conversation(talk: Conversation) -> None:
    assert line(talk) == " manual: asks first  offline · sql · new conversation"
    talk.state.switch("plan")
    talk.chosen_model = "openai:x"
    assert line(talk) == " PLAN: changes nothing  openai:x · sql · new conversation"
    await talk.resume(SESSION)
    assert line(talk).endswith("sql · 0badcafe")
    await talk.rename("销售")
    assert line(talk).endswith("sql · 0badcafe 销售")


async def test_it_says_what_was_used_and_what_that_costs(talk: Conversation) -> None:
    await talk.resume(SESSION)
    for _ in range(2):
        talk.state.count({"input_tokens": 1000, "output_tokens": 500, "total_tokens": 1500})
    assert " · 3,000 tokens · 0badcafe" in line(talk)
    assert " · 3,000 tokens · $0.0120 · " in line(talk, prices=Prices(2.0, 8.0, "USD"))


async def test_it_fits_any_window(talk: Conversation) -> None:
    await talk.resume(SESSION)
    await talk.rename("一个很长的标题" * 10)
    for columns in (120, 80, 40, 22):
        assert get_cwidth(line(talk, columns)) <= columns
