"""Users, keys, the caller and the run's context."""

from dataagent_core.identity.context import RunContext
from dataagent_core.identity.principal import Grounds, Principal, UserRole, Via

__all__ = ["Grounds", "Principal", "RunContext", "UserRole", "Via"]
