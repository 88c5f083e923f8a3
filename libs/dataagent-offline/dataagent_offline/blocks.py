"""The offline model's skill to run fenced `sql` and `python` blocks, as they are, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dataagent_core.models.rule_based import (
    Call,
    Conversation,
    Turn,
    argument,
    missing_tool_turn,
    next_call_or_report,
)

_TOOLS: Final = {
    "sql": ("sql_db_query", ("query",)),
    "python": ("execute_python", ("code", "source", "script")),
    "py": ("execute_python", ("code", "source", "script")),
}
"""Language of a block → the tool that runs it, and what its parameter may be called."""


def run_blocks(conversation: Conversation) -> Turn | None:
    """Run every `sql` and `python` block of the question, one after another."""
    calls: list[Call] = []
    for language, code in fenced(conversation.question):
        if language not in _TOOLS or not code.strip():
            continue
        tool, names = _TOOLS[language]
        if tool not in conversation.tools:
            return missing_tool_turn(conversation, tool)
        calls.append(Call(tool, {argument(conversation, tool, *names): code}))
    if not calls:
        return None
    before = conversation.say("Running what you sent.", "正在执行您发送的代码。")
    return next_call_or_report(conversation, calls, before=before)


def fenced(text: str) -> Iterator[tuple[str, str]]:
    """Language and content of each fenced block. A block that is not closed is not one."""
    language: str | None = None
    lines: list[str] = []
    for line in text.splitlines():
        if language is None:
            if line.startswith("```"):
                language, lines = (line[3:].split() or [""])[0].lower(), []
        elif line.rstrip() == "```":
            yield language, "\n".join(lines)
            language = None
        else:
            lines.append(line)
