"""Announces a deleted session to every process, so that none keeps anything of it.

The store makes the deletion final. This releases at once what a process holds: readers, the live
executor, sandbox and MCP connections. A process that misses the message notices by its checks of
the store (`relay.py`) and by its idle timeouts.
"""

from __future__ import annotations

from dataagent_core.runs.cluster.bus import Bus
from dataagent_core.runs.ledger import Ledger
from dataagent_core.session import SessionManager

_DELETED_SESSIONS = "deleted-sessions"


def announce_deletion(bus: Bus, session_id: str) -> None:
    """Announce to all processes, this one included, that a session was deleted."""
    bus.publish(_DELETED_SESSIONS, session_id.encode())


def release_deleted_sessions(bus: Bus, sessions: SessionManager, ledger: Ledger) -> None:
    """Release what this process holds of sessions that any process deletes."""

    def release(message: bytes | None) -> None:
        if message is not None:
            session_id = message.decode()
            sessions.release(session_id)
            ledger.end_readers(session_id)

    bus.subscribe(_DELETED_SESSIONS, release)
