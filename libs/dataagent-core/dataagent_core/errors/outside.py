"""Something outside does not answer, or says no."""

from __future__ import annotations

from dataagent_core.errors.families import QueryFailed, Unavailable


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
    """No wall can be built around code here, so none is run; the message says why."""

    code = "sandbox_unavailable"


class SandboxGone(Unavailable):
    """A sandbox ended while it was used; the next call gets a new one."""

    code = "sandbox_gone"


class QueryTimedOut(QueryFailed):
    """The statement took longer than allowed and was stopped in the engine."""

    code = "query_timed_out"


class McpUnavailable(Unavailable):
    """An MCP server does not answer."""

    code = "mcp_unavailable"
