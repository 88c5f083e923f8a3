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

from dataagent_core.errors.access import (
    AgentDisabled,
    DataDenied,
    HostNotAllowed,
    NotYours,
    OutsideWorkspace,
    ServerNotAllowed,
    ToolNotAllowed,
    WrongLogin,
    WrongPassword,
)
from dataagent_core.errors.conflicts import (
    AgentBusy,
    AlreadyDecided,
    LastAdmin,
    OwnAccount,
    SessionBusy,
    StaleAttempt,
)
from dataagent_core.errors.families import (
    Conflict,
    DataAgentError,
    Denied,
    Invalid,
    LimitReached,
    Misconfigured,
    ModelRefused,
    NotAuthenticated,
    NotFound,
    QueryFailed,
    ToolFailed,
    Unavailable,
)
from dataagent_core.errors.limits import (
    BudgetExhausted,
    QueueFull,
    QuotaExceeded,
    RateLimited,
    TenantLimit,
    TooManyConnections,
    TooManyLogins,
    TooManyRuns,
    TooManySandboxes,
    TooManyServers,
    UploadTooLarge,
    UserLimit,
)
from dataagent_core.errors.missing import (
    AgentNotFound,
    ArtifactNotFound,
    FileNotFound,
    NothingToCancel,
    RequestNotFound,
    RunNotFound,
    ServerNotFound,
    SessionDeleted,
    SessionNotFound,
    SkillNotFound,
    SourceNotFound,
    TenantNotFound,
    ToolNotFound,
)
from dataagent_core.errors.outside import (
    McpUnavailable,
    ModelUnavailable,
    QueryTimedOut,
    SandboxGone,
    SandboxUnavailable,
    SourceUnavailable,
    StorageFull,
    StorageUnavailable,
)
from dataagent_core.errors.requests import (
    BadChart,
    BadDecision,
    BadFile,
    BadInput,
    QueryRefused,
    UnknownEvent,
    UnknownName,
)

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
