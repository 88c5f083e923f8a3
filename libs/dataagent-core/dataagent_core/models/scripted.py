"""A chat model that plays given turns, for tests, benchmarks and load.

It plays a list of turns, and one instance serves any number of conversations at once:

    ScriptedChatModel([
        "Hello there.",                                        # turn 0: text, word by word
        [Think("hm"), Say(["a ", "b"], delay_seconds=0.01)],   # turn 1: thinking, then two chunks
        [Call("ls", {"path": "/"}), Call("glob", {...})],      # turn 2: two tool calls at once
        Fail(ModelUnavailable("gone")),                        # turn 3: the model breaks
    ])

Which turn is due is the number of AI messages the conversation already holds; after the last one
the list starts over. A function `messages -> Turn` may be given instead. Without turns it follows
directives in the user's message (`directives.py`): the model named `scripted`. It is not random and
stores nothing between calls.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, TypeAlias

from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.model_profile import ModelProfile
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from dataagent_core.models import directives
from dataagent_core.models.chunks import Piece
from dataagent_core.models.rule_based import Call, Fail, Say, Step, Turn, play
from dataagent_core.models.streamed_model import StreamedChatModel

Script: TypeAlias = Sequence[str | Step | Turn]
Chooser: TypeAlias = Callable[[Sequence[BaseMessage]], Turn]


class ScriptedChatModel(StreamedChatModel):
    """Plays turns from a list, from a function, or from directives in the user's message."""

    model_name: str = "scripted"
    turns: Script | Chooser = directives.next_turn

    def __init__(self, turns: Script | Chooser | None = None, **kwargs: Any) -> None:
        if turns is not None:
            kwargs["turns"] = turns
        super().__init__(**kwargs)

    def turn_for(self, messages: Sequence[BaseMessage]) -> Turn:
        """The turn this conversation gets next."""
        if callable(self.turns):
            return self.turns(messages)
        done = sum(isinstance(message, AIMessage) for message in messages)
        return _as_turn(self.turns[done % len(self.turns)])

    def pieces(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncGenerator[Piece]:
        """What the script says next."""
        return play(self.turn_for(messages), messages, self.model_name)

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model as it is: it calls what the script says, bound or not."""
        return self.bind(**kwargs)

    def _resolve_model_profile(self) -> ModelProfile:
        return {"max_input_tokens": 200_000, "tool_calling": True}

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}


def _as_turn(entry: str | Step | Turn) -> Turn:
    if isinstance(entry, str):
        return [Say(entry)]
    return [entry] if isinstance(entry, Say | Call | Fail) else entry
