"""Human in the loop: the request, the decision and the handler protocol."""

from dataagent_core.hitl.types import (
    ALL_DECISIONS,
    ActionRequest,
    Decision,
    DecisionType,
    EditedAction,
    HITLHandler,
)

__all__ = [
    "ALL_DECISIONS",
    "ActionRequest",
    "Decision",
    "DecisionType",
    "EditedAction",
    "HITLHandler",
]
