"""Who may not come in, and who may not do this."""

from __future__ import annotations

from dataagent_core.errors.families import Denied, NotAuthenticated


class WrongLogin(NotAuthenticated):
    """No active account has this name and this password; which of them is wrong is not said."""

    code = "wrong_login"


class NotYours(Denied):
    """The thing belongs to another user."""

    code = "not_yours"


class OutsideWorkspace(Denied):
    """A path leads out of the user's workspace."""

    code = "outside_workspace"


class HostNotAllowed(Denied):
    """An outbound request would reach an address that is closed to tools."""

    code = "host_not_allowed"


class DataDenied(Denied):
    """A policy keeps this reader from a table or column. Says nothing about what is there."""

    code = "data_denied"


class WrongPassword(Denied):
    """The present password, asked for again before a change, is not right."""

    code = "wrong_password"


class AgentDisabled(Denied):
    """The agent is switched off for the caller's tenant."""

    code = "agent_disabled"


class ToolNotAllowed(Denied):
    """The tool is not bound to the agent, or not on the API key's list."""

    code = "tool_not_allowed"


class ServerNotAllowed(Denied):
    """A policy keeps this MCP server from being registered or started; the message says which."""

    code = "mcp_server_not_allowed"
