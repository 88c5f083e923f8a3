"""Decisions on approval requests, from the wire to the run that waits for them."""

from dataagent_server.hitl.websocket_handler import (
    WebHITLHandler,
    WebSocketHITLHandler,
    decision_of,
)

__all__ = ["WebHITLHandler", "WebSocketHITLHandler", "decision_of"]
