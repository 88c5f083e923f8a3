"""The request, caller and run that current work belongs to, for log lines, spans and audit records.

One context variable, which tasks inherit. Transports bind the request and the caller, the worker
binds the run. The request id is neither a credential nor the id of anything stored.
"""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar, Token
from typing import NamedTuple


class RequestContext(NamedTuple):
    """Who asks, from where, for which run. None: not known here."""

    request_id: str | None = None
    user_id: str | None = None
    run_id: str | None = None
    via: str | None = None
    address: str | None = None


_NOTHING = RequestContext()
_CURRENT: ContextVar[RequestContext] = ContextVar("dataagent_bound", default=_NOTHING)
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def new_request_id() -> str:
    """A fresh id."""
    return secrets.token_hex(8)


def accepted_request_id(candidate: str | None) -> str:
    """The caller's id if it is short and harmless to log and send back, else a fresh one."""
    if candidate is not None and _SAFE.fullmatch(candidate):
        return candidate
    return new_request_id()


def bind_request_id(request_id: str, *, address: str | None = None) -> Token[RequestContext]:
    """Make a new request current for this task and those it starts; undo with `unbind_…`."""
    return _CURRENT.set(RequestContext(request_id=request_id, address=address))


def unbind_request_id(token: Token[RequestContext]) -> None:
    """Restore what was current before."""
    _CURRENT.reset(token)


def bind_user(user_id: str, *, via: str | None = None) -> None:
    """Say whose request this is, once that is known."""
    _CURRENT.set(_CURRENT.get()._replace(user_id=user_id, via=via))


def bind_run(run_id: str, user_id: str) -> None:
    """Say which run this task works for. Call it in a task of the run's own."""
    _CURRENT.set(_CURRENT.get()._replace(run_id=run_id, user_id=user_id))


def current_context() -> RequestContext:
    """What is known of the work under way."""
    return _CURRENT.get()


def current_request_id() -> str | None:
    """The id of the request being served, if any."""
    return _CURRENT.get().request_id
