"""The id that joins an answer to its log lines.

Held in a context variable: work that a request starts (a run's task, too) inherits it. Doors bind
it, `logs.py` reads it. Not a credential and not an id of anything kept.
"""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar, Token

_CURRENT: ContextVar[str | None] = ContextVar("dataagent_request_id", default=None)
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def new_request_id() -> str:
    """A fresh id."""
    return secrets.token_hex(8)


def accepted_request_id(candidate: str | None) -> str:
    """The caller's id if it is short and harmless to log and send back, else a fresh one."""
    if candidate is not None and _SAFE.fullmatch(candidate):
        return candidate
    return new_request_id()


def bind_request_id(request_id: str) -> Token[str | None]:
    """Make the id current for this task and those it starts; undo with `unbind_request_id`."""
    return _CURRENT.set(request_id)


def unbind_request_id(token: Token[str | None]) -> None:
    """Restore what was current before."""
    _CURRENT.reset(token)


def current_request_id() -> str | None:
    """The id of the request being served, if any."""
    return _CURRENT.get()
