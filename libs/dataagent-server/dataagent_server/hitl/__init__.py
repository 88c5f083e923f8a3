"""Answers to approval requests, from the wire to who waits for them."""

from dataagent_server.hitl.websocket_handler import (
    WebHITLHandler,
    WebSocketHITLHandler,
    decision_of,
)

__all__ = ["WebHITLHandler", "WebSocketHITLHandler", "decision_of"]
