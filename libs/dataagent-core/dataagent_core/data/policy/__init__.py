"""Policies: who may see what of a data source, and queries that cannot see more."""

from importlib import import_module
from typing import TYPE_CHECKING

from dataagent_core.data.policy.rules import (
    Mask,
    Policy,
    PolicySet,
    Subjects,
    TableRule,
    policies_from_dict,
    policies_from_yaml,
    policies_to_dict,
    policy_from_dict,
    policy_to_dict,
)
from dataagent_core.data.policy.visibility import (
    CLOSED,
    OPEN,
    StorableValues,
    visible_catalogue,
    without_protected_values,
)

if TYPE_CHECKING:
    from dataagent_core.data.policy.checking import check_policy
    from dataagent_core.data.policy.compiling import CompiledQuery, compile_in

_LOADED_WHEN_ASKED_FOR = {
    "CompiledQuery": "compiling",
    "check_policy": "checking",
    "compile_in": "compiling",
}
"""By module: they read SQL, and sqlglot takes longer to load than all the rest."""

__all__ = [
    "CLOSED",
    "OPEN",
    "CompiledQuery",
    "Mask",
    "Policy",
    "PolicySet",
    "StorableValues",
    "Subjects",
    "TableRule",
    "check_policy",
    "compile_in",
    "policies_from_dict",
    "policies_from_yaml",
    "policies_to_dict",
    "policy_from_dict",
    "policy_to_dict",
    "visible_catalogue",
    "without_protected_values",
]


def __getattr__(name: str) -> object:
    if name not in _LOADED_WHEN_ASKED_FOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LOADED_WHEN_ASKED_FOR[name]}"), name)
