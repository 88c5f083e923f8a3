"""Where requests that users or models choose may go: the open Internet and nothing behind it."""

from dataagent_core.network.host_policy import (
    Address,
    HostPolicy,
    Lookup,
    Target,
    is_public,
    parse_target,
)

__all__ = ["Address", "HostPolicy", "Lookup", "Target", "is_public", "parse_target"]
