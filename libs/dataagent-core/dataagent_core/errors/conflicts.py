"""The request is fine but does not fit the present state."""

from __future__ import annotations

from dataagent_core.errors.families import Conflict


class SessionBusy(Conflict):
    """A run of this session is still active."""

    code = "session_busy"


class AlreadyDecided(Conflict):
    """The approval request has another answer already, or its run has ended."""

    code = "already_decided"


class StaleAttempt(Conflict):
    """A newer attempt owns the run; this one's writes are refused."""

    code = "stale_attempt"


class OwnAccount(Conflict):
    """An administrator may not do this to the account they use."""

    code = "own_account"


class LastAdmin(Conflict):
    """Nobody could administer any more: this is the last active administrator."""

    code = "last_admin"


class AgentBusy(Conflict):
    """A run of this agent is active; `details["status"]` says what it does."""

    code = "agent_busy"
