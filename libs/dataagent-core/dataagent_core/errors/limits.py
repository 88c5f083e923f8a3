"""A limit of the user, tenant or server is reached."""

from __future__ import annotations

from dataagent_core.errors.families import LimitReached


class QuotaExceeded(LimitReached):
    """The workspace has no room for the write."""

    code = "quota_exceeded"


class UploadTooLarge(LimitReached):
    """A file has more bytes than may be uploaded at once."""

    code = "too_large"
    recoverable = False


class TooManyConnections(LimitReached):
    """The server holds as many sockets as it may."""

    code = "too_many_connections"


class TooManyLogins(LimitReached):
    """Too many wrong passwords for this name or from this address; says when to try again."""

    code = "too_many_logins"


class TenantLimit(LimitReached):
    """The tenant has as much of something as it may. `details` has `what`, `limit` and `used`."""

    code = "tenant_limit"


class UserLimit(LimitReached):
    """A user has as much of something as one may. `details` has `what`, `limit` and `used`."""

    code = "user_limit"


class TooManyRuns(LimitReached):
    """The user has as many runs under way as allowed."""

    code = "too_many_runs"


class QueueFull(LimitReached):
    """As many runs wait for a worker as may wait."""

    code = "queue_full"


class RateLimited(LimitReached):
    """The user sends messages faster than allowed."""

    code = "rate_limited"


class BudgetExhausted(LimitReached):
    """A user's budget for the day is used up. `details["resets"]` says until when."""

    code = "budget_exhausted"


class TooManySandboxes(LimitReached):
    """As many sandboxes run code as may. `details` has `limit` and `waiting`."""

    code = "too_many_sandboxes"


class TooManyServers(LimitReached):
    """The user has as many MCP servers as allowed. `details` has `limit` and `used`."""

    code = "too_many_mcp_servers"
