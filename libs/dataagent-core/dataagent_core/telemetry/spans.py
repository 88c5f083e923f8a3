"""Names and attributes of spans, after OpenTelemetry's GenAI conventions.

Messages are shaped here too, as the conventions write them; `otel.py` decides whether they are
sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dataagent_core.errors import DataAgentError

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


Errors = tuple[type[BaseException], ...]
CANCELLED = "cancelled"


@dataclass(slots=True)
class RunTrace:
    """A run in traces, and its outcome, which the worker sets."""

    run_id: str
    session_id: str
    user_id: str
    agent: str
    message: str = ""
    traceparent: str | None = None
    """The trace context of the request, possibly of another process."""
    answer: str = ""
    failure: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def name(self) -> str:
        """As the GenAI conventions have it."""
        return f"invoke_agent {self.agent}"


def failure_kind(error: BaseException) -> str:
    """An error in one word that is not its text."""
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        return CANCELLED
    return error.code if isinstance(error, DataAgentError) else type(error).__name__


_ROLES = {"human": "user", "ai": "assistant"}

_PROVIDERS = {
    "amazon_bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "azure_openai": "azure.ai.openai",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "mistralai": "mistral_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""LangChain's names of providers where the conventions have others."""


def agent(run: RunTrace) -> dict[str, str]:
    """Of a whole run."""
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": run.agent,
        "gen_ai.conversation.id": run.session_id,
        "session.id": run.session_id,
        "user.id": run.user_id,
        "dataagent.run_id": run.run_id,
    }


def chat(provider: str, model: str) -> dict[str, str]:
    """Of a call of a model."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider.removesuffix("chatmodel")),
        "gen_ai.request.model": model,
    }


def tool(name: str, call_id: str) -> dict[str, str]:
    """Of a call of a tool."""
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.type": "function",
    }


def usage(counted: Mapping[str, int]) -> dict[str, int]:
    """Tokens, as LangChain counts them."""
    return {
        f"gen_ai.usage.{name}": counted[name]
        for name in ("input_tokens", "output_tokens")
        if name in counted
    }


# -- what was said --------------------------------------------------------------------------------


def user_message(text: str) -> list[dict[str, Any]] | None:
    """A user's message."""
    return [_message("user", [_text(text)])] if text else None


def agent_message(text: str) -> list[dict[str, Any]] | None:
    """An agent's answer."""
    return [_message("assistant", [_text(text)])] if text else None


def messages(said: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """A thread, or what a model answered; pictures and files are only named by their kind."""
    return [_message(_ROLES.get(each.type, each.type), _parts(each)) for each in said]


def _parts(message: BaseMessage) -> list[dict[str, Any]]:
    called: Any = getattr(message, "tool_call_id", None)
    if called is not None:
        return [{"type": "tool_call_response", "id": called, "response": str(message.text)}]
    parts = [_text(str(message.text))] if message.text else []
    if isinstance(message.content, list):
        kinds = [str(block.get("type")) for block in message.content if isinstance(block, dict)]
        parts += [{"type": kind} for kind in kinds if kind != "text"]
    calls: Any = getattr(message, "tool_calls", ())
    return parts + [
        {"type": "tool_call", "id": call["id"], "name": call["name"], "arguments": call["args"]}
        for call in calls
    ]


def _message(role: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": role, "parts": parts}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}
