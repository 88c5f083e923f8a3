"""Restricts the addresses that users and models may choose to the public Internet."""

from dataagent_core.network.host_policy import (
    Address,
    HostPolicy,
    Lookup,
    Target,
    is_public,
    parse_target,
)

__all__ = ["Address", "HostPolicy", "Lookup", "Target", "is_public", "parse_target"]
