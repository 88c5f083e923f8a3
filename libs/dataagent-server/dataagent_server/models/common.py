"""What belongs to no one resource: an error, and a message on a socket."""

from __future__ import annotations

from typing import Any

from dataagent_server.models.fields import RequestModel, ResponseModel


class ErrorResponse(ResponseModel):
    """Every error, whatever its status."""

    error_code: str
    message: str
    details: dict[str, Any] | None = None


class WebSocketMessage(RequestModel):
    """What a client says on a socket; which payload belongs to a `type` is `ws/protocol.py`'s."""

    type: str
    payload: dict[str, Any]
