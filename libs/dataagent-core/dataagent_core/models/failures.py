"""Translates the errors of model providers into ours.

A provider's SDK, LangChain and HTTP each have their own errors. Here they become `ModelUnavailable`
(trying again may help) or `ModelRefused` (it will not), with a message that is fit for a user and
contains no key. Any other error passes through: it is a bug, not an outage.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from langchain_core.exceptions import ContextOverflowError, ModelError

from dataagent_core.errors import DataAgentError, ModelRefused, ModelUnavailable

RETRYABLE_STATUSES: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_KEY: Final = re.compile(r"\b(sk|pk|rk|key)-[A-Za-z0-9_*.\-]{4,}")
_LONGEST: Final = 500
_SDKS: Final = ("openai", "anthropic", "httpx", "httpcore", "aiohttp", "google", "botocore")
_TOO_LONG: Final = (
    "context_length_exceeded",
    "contextwindowexceedederror",
    "maximum context length",
    "exceeds the context window",
    "exceeds the available context size",
    "context window exceeded",
    "input tokens exceed",
    "prompt is too long",
)


class ContextTooLong(ModelRefused, ContextOverflowError):
    """The conversation does not fit the model; deepagents answers this by summarising it."""

    code = "context_too_long"


def is_retryable(status: int) -> bool:
    """Whether an answer with this HTTP status may be different next time."""
    return status in RETRYABLE_STATUSES or status >= 500


def refusal(status: int, said: str) -> DataAgentError:
    """The error for an answer with an HTTP status of 400 or more. `said` is the provider's text."""
    said = presentable(said)
    detail = f": {said}" if said else ""
    if any(marker in said.lower() for marker in _TOO_LONG):
        return ContextTooLong(f"The conversation is too long for the model{detail}")
    if status == 429 and "insufficient_quota" in said:
        return ModelRefused(f"The model's provider reports an exhausted quota{detail}")
    if is_retryable(status):
        reason = "is limiting requests" if status == 429 else "has a problem"
        return ModelUnavailable(f"The model's provider {reason} (HTTP {status}){detail}")
    if status in (401, 403):
        return ModelRefused(
            f"The model's provider does not accept the key (HTTP {status}). Check it{detail}"
        )
    if status == 404:
        return ModelRefused(
            "The model's provider knows no such model or address (HTTP 404). Check "
            f"DATAAGENT_MODEL and the provider's base URL{detail}"
        )
    return ModelRefused(f"The model's provider refused the request (HTTP {status}){detail}")


def presentable(text: str) -> str:
    """`text` without anything that looks like a key, on one line, not too long."""
    text = " ".join(_KEY.sub("[key]", text).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


@contextmanager
def translate_errors() -> Generator[None]:
    """Within this block a provider's errors are raised as ours."""
    try:
        yield
    except DataAgentError:
        raise
    except Exception as error:
        ours = translate_error(error)
        if ours is None:
            raise
        raise ours from error


def translate_error(error: Exception) -> DataAgentError | None:
    """Our error for one of a provider, SDK or HTTP client; None for anything else."""
    said = presentable(str(error))
    if isinstance(error, ContextOverflowError):
        return ContextTooLong(f"The conversation is too long for the model: {said}")
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return refusal(status, str(error))
    if isinstance(error, ModelError):
        kind = ModelUnavailable if error.is_retryable else ModelRefused
        return kind(f"The model's provider failed: {said}")
    if type(error).__module__.partition(".")[0] in _SDKS:
        return ModelUnavailable(f"The model's provider cannot be reached: {said}")
    return None
