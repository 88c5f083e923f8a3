"""Human in the loop: the request, the decision and the handler protocol."""

from dataagent_core.hitl.arguments import check_arguments
from dataagent_core.hitl.types import (
    ALL_DECISIONS,
    IN_CALL,
    ActionRequest,
    Decision,
    DecisionType,
    EditedAction,
    HITLHandler,
)

__all__ = [
    "ALL_DECISIONS",
    "IN_CALL",
    "ActionRequest",
    "Decision",
    "DecisionType",
    "EditedAction",
    "HITLHandler",
    "check_arguments",
]
