"""Every error DataAgent raises on purpose.

    DataAgentError
    ├── Invalid             BadInput, UnknownEvent, BadDecision, QueryRefused, UnknownName,
    │                       BadChart, BadFile
    ├── NotFound            SessionNotFound (SessionDeleted), RunNotFound, NothingToCancel,
    │                       RequestNotFound, AgentNotFound, SourceNotFound, ArtifactNotFound,
    │                       FileNotFound, TenantNotFound, SkillNotFound, ServerNotFound,
    │                       ToolNotFound
    ├── NotAuthenticated    WrongLogin
    ├── Denied              NotYours, OutsideWorkspace, HostNotAllowed, DataDenied, WrongPassword,
    │                       AgentDisabled, ToolNotAllowed, ServerNotAllowed
    ├── Conflict            SessionBusy, AlreadyDecided, StaleAttempt, OwnAccount, LastAdmin,
    │                       AgentBusy
    ├── LimitReached        QuotaExceeded, UploadTooLarge, TooManyConnections, TooManyLogins,
    │                       TenantLimit, TooManyRuns, QueueFull, RateLimited, BudgetExhausted,
    │                       TooManySandboxes, TooManyServers, UserLimit
    ├── Unavailable         ModelUnavailable, StorageUnavailable, StorageFull, SourceUnavailable,
    │                       SandboxUnavailable, SandboxGone, McpUnavailable           (recoverable)
    ├── QueryFailed         QueryTimedOut
    ├── ModelRefused        the provider answered and said no
    ├── ToolFailed
    └── Misconfigured

Each class has a stable `code`, which clients may test for, and `recoverable`, which says whether
the same request may succeed later. The server maps classes to HTTP statuses in one table
(`dataagent_server/api/errors.py`). Nothing here knows about HTTP, LangChain or a database.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "AgentBusy",
    "AgentDisabled",
    "AgentNotFound",
    "AlreadyDecided",
    "ArtifactNotFound",
    "BadChart",
    "BadDecision",
    "BadFile",
    "BadInput",
    "BudgetExhausted",
    "Conflict",
    "DataAgentError",
    "DataDenied",
    "Denied",
    "FileNotFound",
    "HostNotAllowed",
    "Invalid",
    "LastAdmin",
    "LimitReached",
    "McpUnavailable",
    "Misconfigured",
    "ModelRefused",
    "ModelUnavailable",
    "NotAuthenticated",
    "NotFound",
    "NotYours",
    "NothingToCancel",
    "OutsideWorkspace",
    "OwnAccount",
    "QueryFailed",
    "QueryRefused",
    "QueryTimedOut",
    "QueueFull",
    "QuotaExceeded",
    "RateLimited",
    "RequestNotFound",
    "RunNotFound",
    "SandboxGone",
    "SandboxUnavailable",
    "ServerNotAllowed",
    "ServerNotFound",
    "SessionBusy",
    "SessionDeleted",
    "SessionNotFound",
    "SkillNotFound",
    "SourceNotFound",
    "SourceUnavailable",
    "StaleAttempt",
    "StorageFull",
    "StorageUnavailable",
    "TenantLimit",
    "TenantNotFound",
    "TooManyConnections",
    "TooManyLogins",
    "TooManyRuns",
    "TooManySandboxes",
    "TooManyServers",
    "ToolFailed",
    "ToolNotAllowed",
    "ToolNotFound",
    "Unavailable",
    "UnknownEvent",
    "UnknownName",
    "UploadTooLarge",
    "UserLimit",
    "WrongLogin",
    "WrongPassword",
]


class DataAgentError(Exception):
    """Base of all errors. `message` names the thing and the way out; `details` is for programs."""

    code: ClassVar[str] = "error"
    recoverable: ClassVar[bool] = False

    def __init__(self, message: str, *, details: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class Invalid(DataAgentError):
    """The caller sent something that cannot be understood."""

    code = "invalid"


class NotFound(DataAgentError):
    """It does not exist, or the caller may not see it."""

    code = "not_found"


class NotAuthenticated(DataAgentError):
    """No valid credential came with the request."""

    code = "not_authenticated"


class Denied(DataAgentError):
    """The caller is authenticated, but may not do this."""

    code = "denied"


class Conflict(DataAgentError):
    """The request is valid, but not in the present state."""

    code = "conflict"


class LimitReached(DataAgentError):
    """A limit of the user, tenant or server is reached."""

    code = "limit_reached"
    recoverable = True

    def __init__(
        self,
        message: str,
        *,
        details: dict[str, object] | None = None,
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(message, details=details)
        self.retry_after_seconds = retry_after_seconds


class Unavailable(DataAgentError):
    """An outside system does not answer; trying again may help."""

    code = "unavailable"
    recoverable = True


class QueryFailed(DataAgentError):
    """The source's engine ran the statement and reported an error, which the message quotes."""

    code = "query_failed"


class ModelRefused(DataAgentError):
    """The provider rejected the request: wrong key, unknown model, context too long."""

    code = "model_refused"


class ToolFailed(DataAgentError):
    """A tool failed; the message is for the model."""

    code = "tool_failed"


class Misconfigured(DataAgentError):
    """A setting is missing or invalid; the message says which and what to set."""

    code = "misconfigured"


class BadInput(Invalid):
    """A value is out of bounds, or has characters that cannot be stored."""

    code = "bad_input"


class UnknownEvent(Invalid):
    """An event dictionary names no known `event_type`, or lacks a field."""

    code = "unknown_event"


class BadDecision(Invalid):
    """A decision is not among those the request allows, or its arguments do not fit."""

    code = "bad_decision"


class QueryRefused(Invalid):
    """A statement is not one plain query. `details` has `reason` (a code) and `hint`."""

    code = "query_refused"


class UnknownName(Invalid):
    """A statement names an unknown table or column. `details["nearest"]` may help."""

    code = "unknown_name"


class BadChart(Invalid):
    """A chart's specification does not fit its table. `details["nearest"]` may help."""

    code = "bad_chart"


class BadFile(Invalid):
    """A file is of a kind that is not accepted, or is not what its name says."""

    code = "bad_file"


class SessionNotFound(NotFound):
    """No such session for this user."""

    code = "session_not_found"


class SessionDeleted(SessionNotFound):
    """The session was deleted; its id is not used again. For a client the same as not found."""


class RunNotFound(NotFound):
    """No such run for this user."""

    code = "run_not_found"


class NothingToCancel(NotFound):
    """The session has no active run."""

    code = "nothing_to_cancel"


class RequestNotFound(NotFound):
    """No such approval request in this run."""

    code = "request_not_found"


class AgentNotFound(NotFound):
    """No agent of that name."""

    code = "agent_not_found"


class SourceNotFound(NotFound):
    """No such data source for this reader."""

    code = "source_not_found"


class ArtifactNotFound(NotFound):
    """No such artefact of this user's, or it has expired."""

    code = "artifact_not_found"


class FileNotFound(NotFound):
    """No such file of this user's, or its content was removed."""

    code = "file_not_found"


class TenantNotFound(NotFound):
    """No such tenant for this caller."""

    code = "tenant_not_found"


class SkillNotFound(NotFound):
    """No such skill for this user and agent. `details["nearest"]` may help."""

    code = "skill_not_found"


class ServerNotFound(NotFound):
    """No such MCP server for this caller."""

    code = "mcp_server_not_found"


class ToolNotFound(NotFound):
    """No such tool in the catalogue."""

    code = "tool_not_found"


class WrongLogin(NotAuthenticated):
    """No active account has this name and password; the message does not say which is wrong."""

    code = "wrong_login"


class NotYours(Denied):
    """It belongs to another user."""

    code = "not_yours"


class OutsideWorkspace(Denied):
    """A path leads out of the user's workspace."""

    code = "outside_workspace"


class HostNotAllowed(Denied):
    """An outbound request would reach an address that is closed to tools."""

    code = "host_not_allowed"


class DataDenied(Denied):
    """A policy denies this reader a table or column; the message reveals nothing of it."""

    code = "data_denied"


class WrongPassword(Denied):
    """The present password, required before a change, is wrong."""

    code = "wrong_password"


class AgentDisabled(Denied):
    """The agent is disabled for the caller's tenant."""

    code = "agent_disabled"


class ToolNotAllowed(Denied):
    """The tool is not bound to the agent, or not on the API key's list."""

    code = "tool_not_allowed"


class ServerNotAllowed(Denied):
    """A policy denies registering or starting this MCP server; the message says which."""

    code = "mcp_server_not_allowed"


class SessionBusy(Conflict):
    """A run of this session is still active."""

    code = "session_busy"


class AlreadyDecided(Conflict):
    """The approval request has another decision already, or its run has ended."""

    code = "already_decided"


class StaleAttempt(Conflict):
    """A newer attempt owns the run; this one's writes are refused."""

    code = "stale_attempt"


class OwnAccount(Conflict):
    """An administrator may not do this to the account they use."""

    code = "own_account"


class LastAdmin(Conflict):
    """The last active administrator must stay one."""

    code = "last_admin"


class AgentBusy(Conflict):
    """A run of this agent is active; `details["status"]` says what it does."""

    code = "agent_busy"


class QuotaExceeded(LimitReached):
    """The workspace has not enough space for the write."""

    code = "quota_exceeded"


class UploadTooLarge(LimitReached):
    """A file has more bytes than may be uploaded at once."""

    code = "too_large"
    recoverable = False


class TooManyConnections(LimitReached):
    """The server has as many open sockets as allowed."""

    code = "too_many_connections"


class TooManyLogins(LimitReached):
    """Too many wrong passwords for this name or from this address; says when to try again."""

    code = "too_many_logins"


class TenantLimit(LimitReached):
    """A limit of the tenant is reached. `details` has `what`, `limit` and `used`."""

    code = "tenant_limit"


class UserLimit(LimitReached):
    """A limit of the user is reached. `details` has `what`, `limit` and `used`."""

    code = "user_limit"


class TooManyRuns(LimitReached):
    """The user has as many active runs as allowed."""

    code = "too_many_runs"


class QueueFull(LimitReached):
    """The queue of runs has reached its limit."""

    code = "queue_full"


class RateLimited(LimitReached):
    """The user sends messages faster than allowed."""

    code = "rate_limited"


class BudgetExhausted(LimitReached):
    """A user's budget for the day is used up. `details["resets"]` says until when."""

    code = "budget_exhausted"


class TooManySandboxes(LimitReached):
    """As many sandboxes run as allowed. `details` has `limit` and `waiting`."""

    code = "too_many_sandboxes"


class TooManyServers(LimitReached):
    """The user has as many MCP servers as allowed. `details` has `limit` and `used`."""

    code = "too_many_mcp_servers"


class ModelUnavailable(Unavailable):
    """The model's endpoint cannot be reached, timed out or is overloaded."""

    code = "model_unavailable"


class StorageUnavailable(Unavailable):
    """The database does not answer."""

    code = "storage_unavailable"


class StorageFull(StorageUnavailable):
    """The disk under the database has no space left: nothing can be written until it has."""

    code = "storage_full"


class SourceUnavailable(Unavailable):
    """A data source cannot be reached."""

    code = "source_unavailable"


class SandboxUnavailable(Unavailable):
    """Code cannot be isolated here, so none is run; the message says why."""

    code = "sandbox_unavailable"


class SandboxGone(Unavailable):
    """A sandbox ended while it was in use; the next call gets a new one."""

    code = "sandbox_gone"


class QueryTimedOut(QueryFailed):
    """The statement took longer than allowed and was stopped in the engine."""

    code = "query_timed_out"


class McpUnavailable(Unavailable):
    """An MCP server does not answer."""

    code = "mcp_unavailable"
