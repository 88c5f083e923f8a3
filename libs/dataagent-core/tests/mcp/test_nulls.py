"""Null in arguments: what a model fills in because the field is there."""

from __future__ import annotations

from typing import Any

import pytest

from dataagent_core.mcp.catalogue.validation import without_nulls
from dataagent_core.mcp.types import RemoteTool

FIELDS: dict[str, Any] = {
    "needed": {"type": "string"},
    "plain": {"type": "boolean"},
    "several": {"type": ["string", "integer"]},
    "nullable": {"type": ["string", "null"]},
    "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "anything": {},
}
TOOL = RemoteTool("t", input_schema={"properties": FIELDS, "required": ["needed"]})


def test_null_is_left_out_only_where_the_tool_neither_takes_nor_needs_it() -> None:
    arguments = dict.fromkeys([*FIELDS, "unknown"])
    assert without_nulls(TOOL, arguments) == dict.fromkeys(
        ["needed", "nullable", "either", "anything", "unknown"]
    )


def test_arguments_without_null_are_the_same_object() -> None:
    arguments = {"needed": "", "plain": False, "several": 0}
    assert without_nulls(TOOL, arguments) is arguments


@pytest.mark.parametrize("schema", [{}, {"properties": []}, {"properties": {}, "required": "x"}])
def test_a_schema_that_says_nothing_changes_nothing(schema: dict[str, Any]) -> None:
    assert without_nulls(RemoteTool("t", input_schema=schema), {"a": None}) == {"a": None}
