"""Who may see what of a data source, and queries that cannot see more."""

from dataagent_core.data.policy.checking import check_policy
from dataagent_core.data.policy.compiling import Compiled, compile_in
from dataagent_core.data.policy.parsing import (
    policies_from_dict,
    policies_from_yaml,
    policies_to_dict,
    policy_from_dict,
    policy_to_dict,
)
from dataagent_core.data.policy.rules import Mask, Policy, PolicySet, Subjects, TableRule
from dataagent_core.data.policy.values import CLOSED, OPEN, OpenValues, with_open_values
from dataagent_core.data.policy.visible import visible

__all__ = [
    "CLOSED",
    "OPEN",
    "Compiled",
    "Mask",
    "OpenValues",
    "Policy",
    "PolicySet",
    "Subjects",
    "TableRule",
    "check_policy",
    "compile_in",
    "policies_from_dict",
    "policies_from_yaml",
    "policies_to_dict",
    "policy_from_dict",
    "policy_to_dict",
    "visible",
    "with_open_values",
]
