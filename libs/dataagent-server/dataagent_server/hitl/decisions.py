"""A decision as it came over the wire → the core's `Decision`. Pure."""

from __future__ import annotations

from dataagent_core.hitl import Decision
from dataagent_server.models.chat import DecisionRequest


def decision_of(request: DecisionRequest) -> Decision:
    """The decision a caller made.

    Raises:
        BadDecision: an edit without its action, or a response without its text.
    """
    return Decision.from_dict(request.model_dump(exclude_none=True))
