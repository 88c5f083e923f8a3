"""Tells every process of a deleted session, so that nothing of it is held there any more.

The store is what keeps a deleted session closed. This ends at once what a process holds of one:
readers, the live executor, sandbox and MCP connections. A process that misses the message finds out
by its looks at the store (`relay.py`) and by its idle timeouts.
"""

from __future__ import annotations

from dataagent_core.runs.cluster.bus import Bus
from dataagent_core.runs.ledger import Ledger
from dataagent_core.session import SessionManager

_DELETED_SESSIONS = "deleted-sessions"


def announce_deletion(bus: Bus, session_id: str) -> None:
    """Tell all processes, this one too, that a session was deleted and nothing runs in it."""
    bus.publish(_DELETED_SESSIONS, session_id.encode())


def release_deleted_sessions(bus: Bus, sessions: SessionManager, ledger: Ledger) -> None:
    """Release what this process holds of sessions that are deleted in any process."""

    def release(message: bytes | None) -> None:
        if message is not None:
            session_id = message.decode()
            sessions.release(session_id)
            ledger.end_readers(session_id)

    bus.subscribe(_DELETED_SESSIONS, release)
