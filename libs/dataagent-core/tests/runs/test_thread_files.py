"""Searches in the files that live in the thread."""

from __future__ import annotations

import json
from typing import Any

from dataagent_core.events import ToolResultEvent

FOLDER = "/.agent/" + "a/" * 60


def line(tool: str, **arguments: Any) -> str:
    return f"!tool {tool} {json.dumps(arguments)}"


async def test_patterns_with_many_globstars_are_matched_at_once(chat: Any) -> None:
    calls = [
        line("write_file", file_path=f"{FOLDER}f.txt", content="hit\n"),
        line("write_file", file_path="/.agent/g.txt", content="hit\n"),
        line("glob", pattern="**/a/" * 12 + "none", path="/.agent"),
        line("glob", pattern="**/a/" * 12 + "*.txt", path="/.agent"),
        line("grep", pattern="hit", glob="**/a/" * 12 + "*.txt", path="/.agent"),
        line("grep", pattern="hit", path="/.agent"),
        line("glob", pattern="../x", path="/.agent"),
        line("grep", pattern="hit", glob="../x", path="/.agent"),
    ]
    events = await chat.ask("\n".join(calls), auto_approve=True)
    results = [str(e.result) for e in events if isinstance(e, ToolResultEvent)][2:]
    assert "f.txt" not in results[0]
    assert f"{FOLDER}f.txt" in results[1]
    assert "g.txt" not in results[1]
    assert f"{FOLDER}f.txt" in results[2]
    assert "g.txt" not in results[2]
    assert "/.agent/g.txt" in results[3]
    assert all("traversal" in result for result in results[4:])
