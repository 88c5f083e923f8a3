"""The sync twin of `memory.py`. Written by `make sync-client`: change the other."""

from __future__ import annotations

from dataagent_client.memory import MemoryCalls, MemoryInfo, MemoryText
from dataagent_client.models import Page
from dataagent_client.sync.portal import Portal


class SyncMemoryCalls:
    """A user's memories. Administrators see and erase those of others, and never read them."""

    def __init__(self, portal: Portal, calls: MemoryCalls) -> None:
        self._portal = portal
        self._calls = calls

    def list(self, user_id: str) -> Page[MemoryInfo]:
        """What is remembered, without its text."""
        return self._portal.call(self._calls.list(user_id))

    def read(self, user_id: str, assistant_id: str, path: str) -> MemoryText:
        """What one of the caller's memories says."""
        return self._portal.call(self._calls.read(user_id, assistant_id, path))

    def write(self, user_id: str, assistant_id: str, path: str, content: str) -> None:
        """Correct one of the caller's memories, or add one."""
        return self._portal.call(self._calls.write(user_id, assistant_id, path, content))

    def erase(self, user_id: str, *, assistant_id: str | None = None) -> None:
        """Erase all that is remembered, by all assistants or by one."""
        return self._portal.call(self._calls.erase(user_id, assistant_id=assistant_id))

    def erase_one(self, user_id: str, assistant_id: str, path: str) -> None:
        """Erase one memory."""
        return self._portal.call(self._calls.erase_one(user_id, assistant_id, path))
