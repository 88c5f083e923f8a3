"""A transcript as a person reads it: what was said, called and found, one step after another.

A pure function over the events' wire form. Long texts are cut: the whole is in the results file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

Step = dict[str, str]  # kind, title, text
_LONGEST = 1500
_JOINED = ("text", "thinking")


def steps_of(events: Iterable[dict[str, Any]]) -> list[Step]:
    """The steps; text that came in pieces is one of them."""
    steps: list[Step] = []
    for event in events:
        kind = str(event["event_type"])
        title, text = _describe(kind, event)
        if kind in _JOINED and steps and (steps[-1]["kind"], steps[-1]["title"]) == (kind, title):
            steps[-1]["text"] += text
        elif title:
            steps.append({"kind": kind, "title": title, "text": text})
    return [{**step, "text": _cut(step["text"])} for step in steps]


def _describe(kind: str, data: dict[str, Any]) -> tuple[str, str]:
    """A title and a text; no title leaves the event out."""
    tell = _DESCRIBERS.get(kind)
    return ("", "") if tell is None else tell(data)


_DESCRIBERS: dict[str, Callable[[dict[str, Any]], tuple[str, str]]] = {
    "text": lambda data: (str(data.get("agent") or "answer"), str(data.get("content", ""))),
    "thinking": lambda data: ("thinking", str(data.get("content", ""))),
    "tool_call": lambda data: (f"calls {data.get('tool_name')}", _shown(data.get("tool_args"))),
    "tool_result": lambda data: (
        f"{data.get('tool_name')}: {data.get('status')}",
        _shown(data.get("result")),
    ),
    "artifact": lambda data: (f"makes a {data.get('kind')}", str(data.get("title", ""))),
    "hitl_request": lambda data: ("asks for approval", _shown(data.get("action_requests"))),
    "error": lambda data: (f"error {data.get('error_code', '')}", str(data.get("error", ""))),
    "done": lambda data: (f"ends: {data.get('reason')}", ""),
}


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n…"
