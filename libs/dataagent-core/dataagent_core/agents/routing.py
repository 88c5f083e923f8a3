"""Chooses an agent for a message where the message itself names one. No model, no I/O.

These are the first three rules of the supervisor: the user names an agent, attached files, a skill.
They see the fields of a request and the user's own text, never the content of a file or a tool's
result. Markers in quoted text and in code do not count. Where no rule applies the supervisor's
model decides (`engine/supervisor.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from dataagent_core.agents.types import GENERAL, GENERAL_ALIAS, AgentSpec
from dataagent_core.models.messages import FILES_MARK

Rule = Literal["named", "files", "skill"]

_NAMED = re.compile(r"\[ROUTE_TO:([^\[\]\n]{0,100})\]", re.IGNORECASE)
_LOOKED_AT = 100_000  # characters; what comes after is material
_ANY_MARK = re.compile(r"\[(?:ROUTE_TO:|SKILL:|用户上传了以下文件\])", re.IGNORECASE)
_SKILL_MARK = re.compile(r"\s*\[SKILL:", re.IGNORECASE)
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_QUOTE = re.compile(r"\s{0,3}>")
_TICKS = re.compile(r"`+")
_SOMETHING = "\ufffc"  # in place of what was left out, so that nothing grows together around it


@dataclass(frozen=True, slots=True)
class Route:
    """Where a message goes, and why; with no agent, what to answer instead."""

    rule: Rule
    agent: str | None
    note: str


def choose(
    message: str, *, file_ids: Sequence[str], skill: str | None, agents: Sequence[AgentSpec]
) -> Route | None:
    """The agent that the message or its fields name; None if that is for the model to decide."""
    looked_at = message[:_LOOKED_AT]
    text = _unquoted_text(looked_at) if _ANY_MARK.search(looked_at) else ""
    if found := _NAMED.search(text):
        return _named(found[1].strip(), agents)
    if file_ids or FILES_MARK in text:
        return Route("files", GENERAL, hand_over_note(GENERAL, "the message comes with files"))
    if skill:
        return Route("skill", GENERAL, hand_over_note(GENERAL, f"it works with the skill {skill}"))
    if _SKILL_MARK.match(text):
        return Route("skill", GENERAL, hand_over_note(GENERAL, "the message asks for a skill"))
    return None


def find_agent(name: str, agents: Sequence[AgentSpec]) -> AgentSpec | None:
    """The agent of that name or id, in any case of letters; `agent` is `general`."""
    wanted = name.casefold()
    wanted = GENERAL if wanted == GENERAL_ALIAS else wanted
    return next((each for each in agents if wanted in (each.name, each.agent_id.casefold())), None)


def hand_over_note(agent: str, why: str) -> str:
    """The decision, as readers see it."""
    return f"→ {agent}: {why}" if why else f"→ {agent}"


def unknown_agent_note(name: str, agents: Sequence[AgentSpec]) -> str:
    """The answer to the name of an agent that does not exist."""
    names = [each.name for each in agents]
    near = get_close_matches(name.casefold(), names, n=1)
    meant = f" Did you mean `{near[0]}`?" if near else ""
    shown = f" `{name[:64]}`" if name else " without a name"
    return f"There is no agent{shown}.{meant} Choose one of: {', '.join(names)}."


def _named(name: str, agents: Sequence[AgentSpec]) -> Route:
    spec = find_agent(name, agents)
    if spec is None:
        return Route("named", None, unknown_agent_note(name, agents))
    return Route("named", spec.agent_id, hand_over_note(spec.name, "the message names it"))


def _unquoted_text(message: str) -> str:
    """The message without fenced blocks, quoted lines and inline code."""
    kept: list[str] = []
    fence = ""
    for line in message.splitlines():
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" \t" + fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        elif not _QUOTE.match(line):
            kept.append(_without_code(line))
    return "\n".join(kept)


def _without_code(line: str) -> str:
    """A line without its inline code. It looks at each character a few times, however many."""
    runs = [(found.start(), found.end()) for found in _TICKS.finditer(line)]
    closing = _closing(runs)
    kept: list[str] = []
    rest = at = 0
    while at < len(runs):
        end = closing[at]
        if end is not None:
            kept += (line[rest : runs[at][0]], _SOMETHING)
            rest = runs[end][1]
            at = end
        at += 1
    return "".join([*kept, line[rest:]])


def _closing(runs: Sequence[tuple[int, int]]) -> list[int | None]:
    """For each run of backticks the next one that is as long."""
    nearest: dict[int, int] = {}
    closing: list[int | None] = [None] * len(runs)
    for at in range(len(runs) - 1, -1, -1):
        length = runs[at][1] - runs[at][0]
        closing[at] = nearest.get(length)
        nearest[length] = at
    return closing
