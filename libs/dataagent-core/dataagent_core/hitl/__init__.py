"""Human in the loop; `dataagent_protocol.hitl` defines the requests and decisions."""

from dataagent_core.hitl.arguments import check_arguments
from dataagent_protocol.hitl import (
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
