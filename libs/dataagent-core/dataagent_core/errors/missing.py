"""There is no such thing, or it is not the caller's to see."""

from __future__ import annotations

from dataagent_core.errors.families import NotFound


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
