"""The body of every error, and a client's message on a socket."""

from __future__ import annotations

from typing import Any

from dataagent_server.models.fields import RequestModel, ResponseModel


class ErrorResponse(ResponseModel):
    """The body of every error."""

    error_code: str
    message: str
    details: dict[str, Any] | None = None


class WebSocketMessage(RequestModel):
    """A message of a client on a socket; `ws/protocol.py` has the payload of each `type`."""

    type: str
    payload: dict[str, Any]
