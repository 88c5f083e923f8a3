"""Skills as `client.skills`: instructions that a user puts before a task."""

from __future__ import annotations

from dataclasses import dataclass

from dataagent_client.http import Http, child_path
from dataagent_client.parsing import make_parser

_ALL = "skills"
DEFAULT_AGENT = "agent"


@dataclass(frozen=True, slots=True)
class SkillInfo:
    """A skill, and whose it is: `shipped`, `custom`, `package` or `own`."""

    name: str
    description: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDetail(SkillInfo):
    """A skill with its instructions; `text` is the whole file."""

    content: str
    files: tuple[str, ...]
    tools: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class SkillWarning:
    """A folder that is meant as a skill and cannot be one."""

    source: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SkillList:
    """The skills that can be chosen."""

    items: tuple[SkillInfo, ...]
    total: int
    warnings: tuple[SkillWarning, ...]


_skills = make_parser(SkillList, "list of skills")
_skill = make_parser(SkillInfo, "skill")
_detail = make_parser(SkillDetail, "skill")


class SkillCalls:
    """The skills of the caller: lists all, stores and deletes their own."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def list(self, assistant_id: str = DEFAULT_AGENT) -> SkillList:
        """Everyone's, the agent's, and the caller's own."""
        params = {"agent": assistant_id}
        return _skills(await self._http.request("GET", _ALL, params=params, is_web=True))

    async def get(self, name: str, *, assistant_id: str = DEFAULT_AGENT) -> SkillDetail:
        """One of them with its whole instructions."""
        params = {"agent": assistant_id}
        path = child_path(_ALL, name)
        return _detail(await self._http.request("GET", path, params=params, is_web=True))

    async def put(self, name: str, content: str) -> SkillInfo:
        """Store a skill that only the caller sees; `content` is a SKILL.md."""
        path = child_path(_ALL, name)
        body = {"content": content}
        found = await self._http.request("PUT", path, body=body, is_web=True, is_repeatable=True)
        return _skill(found)

    async def delete(self, name: str) -> None:
        """Delete one of the caller's own. Everyone's of that name is back then."""
        await self._http.request("DELETE", child_path(_ALL, name), is_web=True)
