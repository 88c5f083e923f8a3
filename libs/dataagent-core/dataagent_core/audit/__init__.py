"""Who did what, when, from where and how it ended: a log whose rows are chained by hashes."""

from dataagent_core.audit.log import AuditLog
from dataagent_core.audit.records import AuditFilter, AuditOutcome, AuditRow, ChainVerdict

__all__ = ["AuditFilter", "AuditLog", "AuditOutcome", "AuditRow", "ChainVerdict"]
