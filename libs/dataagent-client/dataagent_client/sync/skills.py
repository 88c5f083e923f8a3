"""The sync twin of `skills.py`. Written by `make sync-client`: change the other."""

from __future__ import annotations

from dataagent_client.skills import DEFAULT_AGENT, SkillCalls, SkillDetail, SkillInfo, SkillList
from dataagent_client.sync.portal import Portal


class SyncSkillCalls:
    """The skills of the caller: lists all, stores and deletes their own."""

    def __init__(self, portal: Portal, calls: SkillCalls) -> None:
        self._portal = portal
        self._calls = calls

    def list(self, assistant_id: str = DEFAULT_AGENT) -> SkillList:
        """Everyone's, the agent's, and the caller's own."""
        return self._portal.call(self._calls.list(assistant_id))

    def get(self, name: str, *, assistant_id: str = DEFAULT_AGENT) -> SkillDetail:
        """One of them with its whole instructions."""
        return self._portal.call(self._calls.get(name, assistant_id=assistant_id))

    def put(self, name: str, content: str) -> SkillInfo:
        """Store a skill that only the caller sees; `content` is a SKILL.md."""
        return self._portal.call(self._calls.put(name, content))

    def delete(self, name: str) -> None:
        """Delete one of the caller's own. Everyone's of that name is back then."""
        return self._portal.call(self._calls.delete(name))
