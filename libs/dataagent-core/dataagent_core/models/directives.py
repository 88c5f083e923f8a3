"""Directives in a user's message, which the model named `scripted` follows in tests and load.

One a line:

    !echo TEXT                        say the text
    !think TEXT                       think the text
    !slow CHUNKS MILLISECONDS         say `chunk0 chunk1 …`, one chunk each so many milliseconds
    !tool NAME {"argument": value}    call a tool; the lines below go on after its result
    !tools [{"name", "args"}, …]      call several at once
    !fail [recoverable]               break

A tool line ends the model's turn, so tool lines in a row are called one after another. A message
without directives is echoed; one that asks for a summary of a conversation gets one. The position
in the script is counted from the tool results after the user's message, so it continues after a
restart or a resume.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, cast

import orjson
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from dataagent_core.errors import ModelRefused, ModelUnavailable
from dataagent_core.models.rule_based import Call, Fail, Say, Step, Think, Turn, summary_of

_LINE: Final = re.compile(r"^\s*!(echo|think|slow|tools|tool|fail)(?:[ \t]++(.*))?$")
_AFTER_TOOLS: Final = "Done."


class _BadDirective(ValueError):
    """A directive that cannot be followed; the model answers with the reason."""


def next_turn(messages: Sequence[BaseMessage]) -> Turn:
    """The next turn of the conversation."""
    asked, results = _since_the_user(messages)
    if (summary := summary_of(asked)) is not None:
        return [Say(summary)]
    turns = read_turns(asked)
    for turn in turns[:-1]:
        results -= sum(isinstance(step, Call) for step in turn)
        if results < 0:
            return turn
    return turns[-1]


def is_directive(message: str) -> bool:
    """Whether a message begins with one."""
    return _LINE.match(message.partition("\n")[0]) is not None


def read_turns(message: str) -> list[Turn]:
    """All turns a user's message asks for, in order; the last one calls no tool."""
    lines = [match for line in message.splitlines() if (match := _LINE.match(line))]
    if not lines:
        return [[Say(message)]]
    turns: list[Turn] = []
    steps: list[Step] = []
    for line in lines:
        try:
            read = _READERS[line[1]]((line[2] or "").rstrip())
        except _BadDirective as error:
            return [[Say(f"Directive not understood: {line[0].strip()} ({error})")]]
        steps.extend(read)
        if isinstance(read[-1], Call):
            turns.append(steps)
            steps = []
    turns.append(steps or [Say(_AFTER_TOOLS)])
    return turns


def _since_the_user(messages: Sequence[BaseMessage]) -> tuple[str, int]:
    """The last user message's text, and how many tool results came after it."""
    results = 0
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return str(message.text), results
        results += isinstance(message, ToolMessage)
    return "", results


def _read_echo(rest: str) -> list[Step]:
    return [Say(rest)]


def _read_think(rest: str) -> list[Step]:
    return [Think(rest)]


def _read_slow(rest: str) -> list[Step]:
    try:
        count, milliseconds = rest.split()
        return [Say(NumberedChunks(int(count)), float(milliseconds) / 1000)]
    except ValueError as error:
        raise _BadDirective("expected two numbers: CHUNKS MILLISECONDS") from error


def _read_tool(rest: str) -> list[Step]:
    name, _, args = rest.partition(" ")
    if not name:
        raise _BadDirective("expected NAME {json}")
    return [_call(name, _json(args.strip() or "{}"))]


def _read_tools(rest: str) -> list[Step]:
    calls = _json(rest)
    if not isinstance(calls, list) or not calls:
        raise _BadDirective('expected a list of {"name", "args"}')
    return [_listed_call(call) for call in cast("list[Any]", calls)]  # what JSON holds


def _read_fail(rest: str) -> list[Step]:
    if rest == "recoverable":
        return [Fail(ModelUnavailable("The scripted model fails as told; trying again may help."))]
    return [Fail(ModelRefused("The scripted model fails as told."))]


def _listed_call(call: object) -> Step:
    fields = cast("dict[str, Any]", call) if isinstance(call, dict) else {}  # JSON
    if not isinstance(fields.get("name"), str):
        raise _BadDirective('each call is {"name", "args"}')
    return _call(fields["name"], fields.get("args", {}))


def _call(name: str, args: object) -> Step:
    if not isinstance(args, dict):
        raise _BadDirective("arguments must be a JSON object")
    return Call(name, cast("dict[str, Any]", args))  # JSON objects have string keys


def _json(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _BadDirective(f"not JSON: {error}") from error


class NumberedChunks(Iterable[str]):
    """`chunk0 `, `chunk1 `, … up to a count, made as they are asked for."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __iter__(self) -> Any:
        return (f"chunk{number} " for number in range(self._count))


_READERS: Final[dict[str, Callable[[str], list[Step]]]] = {
    "echo": _read_echo,
    "think": _read_think,
    "slow": _read_slow,
    "tool": _read_tool,
    "tools": _read_tools,
    "fail": _read_fail,
}
