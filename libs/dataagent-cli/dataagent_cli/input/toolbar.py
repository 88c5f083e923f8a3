"""The line below the prompt: the mode, who answers, which conversation, what it used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from prompt_toolkit.formatted_text import StyleAndTextTuples

from dataagent_cli.ui.describe import shorten

if TYPE_CHECKING:
    from dataagent_cli.conversation import Conversation
    from dataagent_core.config import Prices

Toolbar = Callable[[int], StyleAndTextTuples]
"""The line in so many columns."""

_TITLE_CELLS = 32
_SHORT_ID = 8
_MODES = {
    "manual": "manual: asks first",
    "auto": "AUTO: calls run unasked",
    "plan": "PLAN: nothing is changed",
}


def toolbar_of(
    conversation: Conversation, *, model: str = "", prices: Prices | None = None
) -> Toolbar:
    """The line for a conversation; `model` answers unless another was chosen."""

    def line(columns: int) -> StyleAndTextTuples:
        mode = _MODES[conversation.state.mode]
        who = [conversation.chosen_model or model, conversation.agent]
        rest = [*who, *_used(conversation, prices), _session(conversation)]
        said = " · ".join(part for part in rest if part)
        room = max(columns - len(mode) - 4, 0)
        return [("bold", f" {mode} "), ("", f" {shorten(said, room)}")]

    return line


def _session(conversation: Conversation) -> str:
    from dataagent_core.session.types import DEFAULT_TITLE  # heavy, and loaded by now

    session = conversation.session
    if session is None:
        return "new conversation"
    named = session.title != DEFAULT_TITLE
    title = f" {shorten(session.title, _TITLE_CELLS)}" if named else ""
    return f"{session.session_id[:_SHORT_ID]}{title}"


def _used(conversation: Conversation, prices: Prices | None) -> list[str]:
    """Tokens of this sitting, and what they cost where prices are set."""
    usage = conversation.state.token_usage
    total = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    if not total:
        return []
    cost = [] if prices is None else [prices.shown(prices.cost_of(usage))]
    return [f"{total:,} tokens", *cost]
