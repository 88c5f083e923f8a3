"""A server's form at the terminal: every kind of field, checked and asked again."""

from __future__ import annotations

from typing import Any

import pytest

from dataagent_cli.hitl import PromptInterrupted, TerminalHITLHandler
from dataagent_core.config import SessionState
from dataagent_core.hitl import ActionRequest, Decision, EditedAction

ENTER, ESC, CTRL_C = "\r", "\x1b", "\x03"
CLEAR = "\x15"  # Ctrl-U


def form(required: tuple[str, ...] = (), **fields: dict[str, Any]) -> ActionRequest:
    schema = {"type": "object", "properties": fields, "required": list(required)}
    return ActionRequest("mall__order", {}, "Server 'mall' asks: What?", "ask-1", schema)


COLOUR = {"type": "string", "enum": ["red", "blue"], "title": "Colour", "description": "Of it."}


async def test_each_field_is_asked_for_and_becomes_its_kind(driver: Any) -> None:
    action = form(
        ("name", "colour", "count"),
        name={"type": "string"},
        colour=COLOUR,
        count={"type": "integer", "minimum": 1},
        price={"type": "number", "default": 2.5},
        gift={"type": "boolean", "default": True},
        tags={"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}},
        note={"type": "string"},
    )
    keys = ["王小明", "2", "3", "", CLEAR + "no", "1, c", ""]
    decision = await driver.answer("".join(each + ENTER for each in keys), action)
    values = {"name": "王小明", "colour": "blue", "count": 3, "price": 2.5, "gift": False}
    assert decision == Decision(
        "edit", edited_action=EditedAction("mall__order", {**values, "tags": ["a", "c"]})
    )
    assert "Server 'mall' asks: What?" in driver.notes[0]
    assert "Of it.\n  1. red\n  2. blue" in driver.notes


@pytest.mark.parametrize(
    ("field", "wrong", "right", "value", "told"),
    [
        ({"type": "integer"}, "x", "4", 4, "'x' is not a whole number."),
        ({"type": "number"}, "nan", "4", 4.0, "'nan' is not a number."),
        ({"type": "number"}, "1e999", "4", 4.0, "'1e999' is not a number."),
        (COLOUR, "²", "2", "blue", "Type a number from 1 to 2"),
        ({"type": "number", "maximum": 5}, "9", "4", 4.0, "do not fit"),
        ({"type": "boolean"}, "perhaps", "y", True, "Type y or n."),
        (COLOUR, "green", "red", "red", "Type a number from 1 to 2"),
        ({"type": "string", "title": "Name"}, "", "x", "x", "Name is required."),
        ({"type": "string", "minLength": 3}, "ab", "abc", "abc", "do not fit"),
    ],
)
async def test_what_does_not_fit_is_told_and_asked_again(
    driver: Any, field: dict[str, Any], wrong: str, right: str, value: object, told: str
) -> None:
    keys = wrong + ENTER + CLEAR + right + ENTER
    decision = await driver.answer(keys, form(("it",), it=field))
    assert decision.edited_action.args == {"it": value}
    assert any(told in note for note in driver.notes)


async def test_a_choice_that_is_a_number_is_what_it_says_and_what_was_taken_is_told(
    driver: Any,
) -> None:
    years = {"type": "string", "enum": ["3", "1", "blue"], "default": "1"}
    keys = ENTER + CLEAR + "3" + ENTER + CLEAR + "2" + ENTER
    decision = await driver.answer(keys, form((), a=years, b=years, c=years))
    assert decision.edited_action.args == {"a": "1", "b": "3", "c": "1"}
    assert driver.notes[-1] == "  c: 1"


async def test_a_form_is_declined_or_stops_the_run(driver: Any) -> None:
    action = form(("name",), name={"type": "string"})
    assert await driver.answer("half" + ESC, action) == Decision("reject", "Not answered.")
    with pytest.raises(PromptInterrupted):
        await driver.answer(CTRL_C, action)


async def test_a_form_is_asked_in_every_mode_and_declined_where_nobody_is(driver: Any) -> None:
    driver.state.switch("auto")
    action = form((), name={"type": "string", "default": "x"})
    assert (await driver.answer(ENTER, action)).edited_action.args == {"name": "x"}
    nobody = TerminalHITLHandler(SessionState(auto_approve=True), is_interactive=False)
    assert (await nobody.request_approval(action, "s")).type == "reject"
