"""A conversation in short, without a mind: what the models that have none make of one.

LangChain asks a model for a summary with the messages as XML in the prompt. Here each question
stays with the beginning of its answer and the names of the tools that were used: nothing is
invented, and what is left out says so. Pure. Above: `offline.py`, `directives.py`.
"""

from __future__ import annotations

import html
import re
from typing import Final

_MESSAGES: Final = re.compile(r"<messages>\s*Messages to summarize:\n(.*)\n</messages>", re.DOTALL)
_MESSAGE: Final = re.compile(r'<message type="(\w+)">(.*?)</message>', re.DOTALL)
_CONTENT: Final = re.compile(r"<content>(.*?)</content>", re.DOTALL)
_TOOL: Final = re.compile(r'<tool_call id="[^"]*" name="([^"]*)"')
_SHOWN: Final = {"human": 300, "ai": 500}
_TITLES: Final = {"human": "Asked", "ai": "Answered"}


def summary_of(prompt: str) -> str | None:
    """The summary a prompt asks for; None if it asks for none."""
    asked = _MESSAGES.search(prompt)
    if asked is None:
        return None
    lines = [line for kind, body in _MESSAGE.findall(asked[1]) for line in _lines(kind, body)]
    return "\n".join(lines) or "Nothing was said."


def _lines(kind: str, body: str) -> list[str]:
    """What stays of one message: results of tools are in the answers that were made of them."""
    if kind not in _TITLES:
        return []
    content = _CONTENT.search(body)
    has_calls = "<tool_call" in body
    text = content[1] if content else "" if has_calls else body
    lines: list[str] = []
    if said := " ".join(html.unescape(text).split()):
        lines.append(f"- {_TITLES[kind]}: {_shortened(said, _SHOWN[kind])}")
    if tools := list(dict.fromkeys(_TOOL.findall(body))):
        lines.append(f"- Used: {', '.join(map(html.unescape, tools))}")
    return lines


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} characters left out)"
