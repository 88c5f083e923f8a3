"""What went wrong, in words for the person in front of the demo. Pure.

Each error of the client becomes a `Problem`: what is the matter and what to do about it. No error
reaches the page as a traceback, and no text shows a key. Above: everything that draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dataagent_client import (
    ApiError,
    ClientError,
    ConflictError,
    ConnectionFailed,
    EventsLost,
    LimitError,
    NotAuthenticatedError,
    NotFoundError,
    ProtocolError,
    UnavailableError,
)

Level = Literal["info", "warning", "error"]
_NOT_BUILT = {404, 405, 501}
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Problem:
    """What is the matter, and what can be done. `info` means that nothing is broken."""

    text: str
    hint: str
    level: Level = "warning"


def explain(error: ClientError, server_url: str) -> Problem:
    """What an error of the client means to who uses the demo."""
    match error:
        case ConnectionFailed():
            return Problem(
                f"The DataAgent server at {server_url} does not answer.",
                "Start it (make run), or set DATAAGENT_SERVER_URL to where it is, and try again.",
            )
        case ProtocolError():
            return Problem(
                f"What answers at {server_url} does not speak as a DataAgent server does.",
                "Check DATAAGENT_SERVER_URL, and that the server is as new as this demo.",
            )
        case EventsLost():
            return Problem(
                "Part of the answer can no longer be replayed.",
                "Open the conversation again: what was said is kept.",
            )
        case ApiError():
            return _refusal(error)
        case _:
            return Problem(_short(str(error)), "Try again.")


def _refusal(error: ApiError) -> Problem:
    match error:
        case NotAuthenticatedError():
            return Problem(
                "The server does not know this key.",
                "Set DATAAGENT_API_KEY to a key of that server and start the demo again.",
            )
        case _ if error.status >= 500 and not isinstance(error, UnavailableError):
            named = f" Its log names the request {error.request_id}." if error.request_id else ""
            return Problem(f"The server failed ({error.status}).", f"Try again.{named}")
        case _:
            return Problem(_short(str(error)), _way_out(error))


def _way_out(error: ApiError) -> str:
    match error:
        case _ if error.status == 403:
            hint = "The server's rules do not allow it for this key."
        case NotFoundError():
            hint = "It is not there, or it is somebody else's."
        case ConflictError():
            hint = "It does not fit what is there now; look again."
        case LimitError():
            hint = f"A limit is reached. {_when(error)}"
        case UnavailableError():
            hint = f"The server is busy. {_when(error)}"
        case _:
            hint = "Correct it and try again."
    return hint


def _when(error: ApiError) -> str:
    if error.retry_after is None:
        return "Try again later."
    return f"Try again in {max(1, round(error.retry_after))} s."


def explain_mcp(error: ClientError, server_url: str) -> Problem:
    """As `explain`, for the list of MCP servers: a server may be without them."""
    if isinstance(error, ApiError) and error.status in _NOT_BUILT:
        return Problem(
            "This server does not offer MCP configuration.",
            "The chat works without it. A newer DataAgent server has it.",
            "info",
        )
    if isinstance(error, ApiError) and error.status == 403:
        return Problem(
            "MCP configuration is not open to this key.",
            f"The server says: {_short(str(error))}",
            "info",
        )
    return explain(error, server_url)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
