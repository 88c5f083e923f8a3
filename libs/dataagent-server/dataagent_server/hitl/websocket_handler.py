"""Approvals over a WebSocket: decisions from the wire, and a handler that waits for one.

`WebHITLHandler` is for programs that run agents beside their sockets. The runs of this server wait
in the core (`dataagent_core.runs`), so that a request outlives its socket and its process.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from pydantic import ValidationError

from dataagent_core.errors import BadDecision
from dataagent_core.hitl import ActionRequest, Decision, HITLHandler
from dataagent_server.models.chat import DecisionRequest

NO_ANSWER: Final = Decision("reject", "No answer came in time.")


class Decisions(Protocol):
    """Where decisions arrive: a `ConnectionManager`."""

    async def wait_for_decision(
        self, session_id: str, timeout: float, *, request_id: str | None = None
    ) -> dict[str, Any] | None:
        """The next decision for a session, or for one of its requests; None if none comes."""
        ...


class WebHITLHandler(HITLHandler):
    """Asks the user of a session's sockets.

    The request itself reaches them as the executor's `HITLRequestEvent`.
    """

    def __init__(self, connections: Decisions, timeout: float = 300.0) -> None:
        """No decision within `timeout` seconds is a rejection."""
        self._connections = connections
        self._timeout = timeout

    async def request_approval(self, action_request: ActionRequest, session_id: str) -> Decision:
        """Wait for the decision.

        Raises:
            BadDecision: the answer is not a decision.
        """
        request_id = action_request.request_id or None
        sent = await self._connections.wait_for_decision(
            session_id, self._timeout, request_id=request_id
        )
        if sent is None:
            return NO_ANSWER
        own = {name: value for name, value in sent.items() if name != "request_id"}
        try:
            return decision_of(DecisionRequest.model_validate(own))
        except ValidationError as error:
            problem = error.errors(include_input=False)[0]
            raise BadDecision(f"Invalid decision: {problem['loc']}: {problem['msg']}.") from None


WebSocketHITLHandler = WebHITLHandler


def decision_of(request: DecisionRequest) -> Decision:
    """The decision a caller made.

    Raises:
        BadDecision: an edit without its action, or a response without its text.
    """
    return Decision.from_dict(request.model_dump(exclude_none=True))
