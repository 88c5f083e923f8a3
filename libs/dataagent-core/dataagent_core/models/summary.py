"""A conversation in short, without a mind: what the models that have none make of one.

LangChain asks a model for a summary with the messages as XML in the prompt. Here each question
stays with the beginning of its answer and the names of the tools that were used: nothing is
invented, and what is left out says so. Pure. Above: `offline.py`, `directives.py`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

_MESSAGES: Final = re.compile(r"<messages>\s*Messages to summarize:\n")
_MESSAGE: Final = re.compile(r'<message type="(\w+)">')
_TOOL: Final = re.compile(r'<tool_call id="[^"]*" name="([^"]*)"')
_SHOWN: Final = {"human": 300, "ai": 500}
_TITLES: Final = {"human": "Asked", "ai": "Answered"}


def summary_of(prompt: str) -> str | None:
    """The summary a prompt asks for; None if it asks for none."""
    begin = _MESSAGES.search(prompt)
    end = prompt.rfind("\n</messages>")
    if begin is None or end < begin.end():
        return None
    messages = _messages(prompt[begin.end() : end])
    lines = [line for kind, body in messages for line in _lines(kind, body)]
    return "\n".join(lines) or "Nothing was said."


def _messages(text: str) -> Iterator[tuple[str, str]]:
    """The kind and the body of each message, up to one that does not end."""
    at = 0
    while begin := _MESSAGE.search(text, at):
        at = text.find("</message>", begin.end())
        if at < 0:
            return
        yield begin[1], text[begin.end() : at]


def _lines(kind: str, body: str) -> list[str]:
    """What stays of one message: results of tools are in the answers that were made of them."""
    if kind not in _TITLES:
        return []
    content, end, _ = body.partition("<content>")[2].partition("</content>")
    has_calls = "<tool_call" in body
    text = content if end else "" if has_calls else body
    lines: list[str] = []
    if said := " ".join(html.unescape(text).split()):
        lines.append(f"- {_TITLES[kind]}: {_shortened(said, _SHOWN[kind])}")
    if tools := list(dict.fromkeys(_TOOL.findall(body))):
        lines.append(f"- Used: {', '.join(map(html.unescape, tools))}")
    return lines


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} characters left out)"
