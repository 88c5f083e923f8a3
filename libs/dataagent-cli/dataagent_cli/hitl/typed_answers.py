"""Answers typed as lines: a reason, edited text, or the fields of a form.

A form has flat fields: text, numbers, yes or no, one or several of a list. Each is asked for and
checked in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from dataagent_cli.hitl.choices import PromptInterrupted
from dataagent_cli.ui.clean import one_line, printable
from dataagent_core.errors import BadDecision
from dataagent_core.hitl import ActionRequest, check_arguments

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.output import Output

    from dataagent_cli.hitl.approval_prompt import Binding


_ESCAPE_SECONDS = 0.05


class LineReader:
    """Reads a line. Esc and Ctrl-D answer nothing."""

    def __init__(self, keyboard: Input, screen: Output | None) -> None:
        self._keyboard = keyboard
        self._screen = screen

    async def read(self, prompt: str, text: str = "", *, is_long: bool = False) -> str | None:
        """The typed line, which starts as `text`; None if the user leaves.

        In a long text, Alt-Enter or Ctrl-J starts a new line.

        Raises:
            PromptInterrupted: Ctrl-C.
        """
        from prompt_toolkit import PromptSession

        session: PromptSession[str | None] = PromptSession(
            prompt,
            multiline=is_long,
            key_bindings=_keys(),
            prompt_continuation="  ",
            erase_when_done=True,
            input=self._keyboard,
            output=self._screen,
        )
        session.app.ttimeoutlen = session.app.timeoutlen = _ESCAPE_SECONDS
        try:
            return await session.prompt_async(
                default=text, handle_sigint=False, reserve_space_for_menu=0
            )
        except EOFError:
            return None
        except KeyboardInterrupt:
            raise PromptInterrupted from None


def _keys() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings

    bound: dict[tuple[str, ...], Binding] = {
        ("enter",): lambda event: event.current_buffer.validate_and_handle(),
        ("escape",): lambda event: event.app.exit(result=None),
        ("c-j",): lambda event: event.current_buffer.insert_text("\n"),
        ("escape", "enter"): lambda event: event.current_buffer.insert_text("\n"),
    }
    keys = KeyBindings()
    for names, binding in bound.items():
        keys.add(*names)(binding)
    return keys


Note = Callable[[str], None]
_YES, _NO = ("y", "yes", "true", "1"), ("n", "no", "false", "0")


@dataclass(frozen=True, slots=True)
class FormField:
    """One field, as its schema describes it."""

    name: str
    schema: dict[str, Any]
    is_required: bool

    @property
    def label(self) -> str:
        """The name that users read."""
        return one_line(str(self.schema.get("title") or self.name))

    @property
    def choices(self) -> list[str]:
        """The allowed values; empty if any is."""
        of_items: dict[str, Any] = self.schema.get("items") or {}
        listed: list[Any] = self.schema.get("enum") or of_items.get("enum") or []
        return [str(each) for each in listed]

    @property
    def help(self) -> str:
        """Its description and its choices, a line each."""
        lines = [printable(str(self.schema.get("description") or ""))]
        lines += [f"  {n}. {one_line(each)}" for n, each in enumerate(self.choices, 1)]
        return "\n".join(line for line in lines if line)

    @property
    def prompt(self) -> str:
        """The field's name, its type, and whether it may be empty."""
        hints = [_KINDS.get(str(self.schema.get("type")), "")]
        hints.append("" if self.is_required or "default" in self.schema else "may be empty")
        listed = ", ".join(hint for hint in hints if hint)
        return f"{self.label}{f' ({listed})' if listed else ''}: "

    @property
    def default(self) -> str:
        """Its default value, as it would be typed."""
        return _as_typed(self.schema.get("default"))


_KINDS = {"integer": "a whole number", "number": "a number", "boolean": "y/n", "array": "a, b, …"}


def fields_of(action: ActionRequest) -> list[FormField]:
    """The fields of a form, in order."""
    schema = action.args_schema or {}
    required: list[str] = schema.get("required") or []
    return [
        FormField(name, field, name in required)
        for name, field in schema.get("properties", {}).items()
    ]


def parse_value(field: FormField, typed: str) -> Any:
    """The value of a typed text; None for an empty one.

    Raises:
        ValueError: the field does not allow it; the message says what it allows.
    """
    text = typed.strip()
    if not text:
        if field.is_required:
            raise ValueError(f"{field.label} is required.")
        return None
    match field.schema.get("type"):
        case "integer":
            return _parse_number(text, int)
        case "number":
            return _parse_number(text, float)
        case "boolean":
            return _parse_boolean(text)
        case "array":
            return [_parse_choice(field.choices, each.strip()) for each in text.split(",")]
        case _:
            return _parse_choice(field.choices, typed)


def _as_typed(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value)))  # JSON values
    return "" if value is None else str(value)


def _parse_number(text: str, kind: type[int] | type[float]) -> int | float:
    try:
        number = kind(text)
        if isinstance(number, float) and not math.isfinite(number):
            raise ValueError  # JSON has none
        return number
    except ValueError:
        article = "whole number" if kind is int else "number"
        raise ValueError(f"{text!r} is not a {article}.") from None


def _parse_boolean(text: str) -> bool:
    if text.lower() in _YES:
        return True
    if text.lower() in _NO:
        return False
    raise ValueError("Type y or n.")


def _parse_choice(choices: list[str], text: str) -> str:
    """A choice by its text or its number; any text where there are no choices."""
    if not choices:
        return text
    word = text.strip()
    if word in choices:  # before its number: a choice may be a number itself
        return word
    if word.isdecimal() and 1 <= int(word) <= len(choices):
        return choices[int(word) - 1]
    raise ValueError(f"Type a number from 1 to {len(choices)}, or one of the words.")


async def fill_form(action: ActionRequest, lines: LineReader, note: Note) -> dict[str, Any] | None:
    """The values of a form; None if the user declines.

    Raises:
        PromptInterrupted: Ctrl-C.
    """
    note(f"? {printable(action.description)}\n  Esc declines")
    while True:
        values: dict[str, Any] = {}
        for field in fields_of(action):
            is_answered = await _ask(field, lines, note, values)
            if not is_answered:
                return None
        try:
            check_arguments(action, values)
        except BadDecision as error:
            note(str(error))
            continue
        return values


async def _ask(field: FormField, lines: LineReader, note: Note, values: dict[str, Any]) -> bool:
    """Ask for one field until its value is valid; False if the user declines."""
    if field.help:
        note(field.help)
    text = field.default
    while True:
        typed = await lines.read(field.prompt, text)
        if typed is None:
            return False
        try:
            value = parse_value(field, typed)
            _check_bounds(field, value)
        except (ValueError, BadDecision) as error:
            note(str(error))
            text = typed
            continue
        if value is not None:
            values[field.name] = value
        note(f"  {field.label}: {one_line(_as_typed(value))}")
        return True


def _check_bounds(field: FormField, value: Any) -> None:
    """Check a value against the field's own bounds.

    Raises:
        BadDecision: it is beyond them.
    """
    if value is not None:
        schema = {"type": "object", "properties": {field.name: field.schema}}
        check_arguments(ActionRequest(field.label, {}, args_schema=schema), {field.name: value})
