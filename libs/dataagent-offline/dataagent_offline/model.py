"""A chat model without a network or a language model: it answers when no key is configured.

It reads the tools it was given and follows what it understands to the letter: it runs fenced `sql`
and `python` blocks, lists, reads and writes files, answers plain questions about data with the SQL
tools, and otherwise says what it is and what to set. Each ability is a function in `SKILLS`; the
first one that answers wins. As supervisor it answers greetings itself, sends SQL and questions
about data to `sql` and all else to `general`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final

from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.model_profile import ModelProfile
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from pydantic import PrivateAttr

from dataagent_core.models.chunks import Piece
from dataagent_core.models.openai_request import ToolLike, ToolSchemas
from dataagent_core.models.rule_based import (
    HAND_OVER,
    Call,
    Conversation,
    Say,
    Skill,
    Turn,
    conversation_of,
    play,
    summary_of,
)
from dataagent_core.models.streamed_model import StreamedChatModel
from dataagent_offline.data import answer_from_data, sounds_like_data
from dataagent_offline.skills import (
    describe_abilities,
    fenced,
    greet,
    list_files,
    read_a_file,
    read_an_upload,
    run_blocks,
    write_a_file,
)

_SQL: Final = "sql"
_GENERAL: Final = "general"


def hand_over(conversation: Conversation) -> Turn | None:
    """Pass the question on, if there is anyone to pass it to."""
    if not conversation.agents:
        return None
    if hello := greet(conversation):
        return hello
    wanted = _SQL if _is_about_data(conversation) else _GENERAL
    agent = wanted if wanted in conversation.agents else conversation.agents[-1]
    return [Call(HAND_OVER, {"agent_name": agent, "task_description": conversation.question})]


def _is_about_data(conversation: Conversation) -> bool:
    languages = {language for language, _ in fenced(conversation.question)}
    if languages:
        return languages == {_SQL}
    if any(skill(conversation) for skill in (write_a_file, read_a_file, list_files)):
        return False
    return sounds_like_data(conversation.question)


def summarise(conversation: Conversation) -> Turn | None:
    """Put a conversation that is shown as a text in short."""
    summary = summary_of(conversation.question)
    return None if summary is None else [Say(summary)]


SKILLS: Final[tuple[Skill, ...]] = (
    summarise,
    hand_over,
    write_a_file,
    run_blocks,
    read_an_upload,
    read_a_file,
    list_files,
    greet,
    answer_from_data,
)


def next_turn(conversation: Conversation, skills: Sequence[Skill] = SKILLS) -> Turn:
    """The turn of the first skill that has one; else what the model is and can do."""
    for skill in skills:
        if turn := skill(conversation):
            return turn
    return describe_abilities(conversation)


class OfflineChatModel(StreamedChatModel):
    """Answers by rule. The same conversation and tools always get the same answer."""

    model_name: str = "offline"

    _schemas: ToolSchemas = PrivateAttr(default_factory=ToolSchemas)

    def pieces(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncGenerator[Piece]:
        """What the rules say."""
        turn = next_turn(conversation_of(messages, kwargs.get("tools") or ()))
        return play(turn, messages, self.model_name)

    def bind_tools(
        self, tools: Sequence[ToolLike], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with tools it may call."""
        return self.bind(tools=self._schemas.describe(tools, strict=None), **kwargs)

    def _resolve_model_profile(self) -> ModelProfile:
        return {"max_input_tokens": 1_000_000, "tool_calling": True}

    @property
    def _llm_type(self) -> str:
        return "offline"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}
