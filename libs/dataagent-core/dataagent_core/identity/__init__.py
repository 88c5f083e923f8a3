"""Users, keys, the caller and the run's context."""

from dataagent_core.identity.context import RunContext
from dataagent_core.identity.principal import CredentialRef, Principal, UserRole, Via

__all__ = ["CredentialRef", "Principal", "RunContext", "UserRole", "Via"]
