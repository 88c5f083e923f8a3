"""The query tool's answers as objects: rows, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import orjson
from langchain_core.messages import ToolMessage

_CUT_FROM: Final = 600
"""Characters from which the tool may give a statement in part only."""
_NUMBERS: Final = ("decimal", "double", "float", "halffloat")


@dataclass(frozen=True, slots=True)
class TableResult:
    """What a query gave: the first rows, and how many there are."""

    artifact_id: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]  # cells are JSON values, or decimals
    row_count: int
    is_truncated: bool
    sql_executed: str
    source: str
    policy: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    sql: str = ""
    """As it was asked."""

    @property
    def sql_shown(self) -> str:
        """The SQL as it ran; as it was asked where the tool may have cut it."""
        is_whole = bool(self.sql_executed) and len(self.sql_executed) < _CUT_FROM
        return self.sql_executed if is_whole or not self.sql else self.sql


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """Why a tool gave nothing."""

    code: str
    message: str


def result_of(message: ToolMessage, sql: str = "") -> TableResult | ToolFailure:
    """The result in a tool's answer to a statement, or its failure."""
    text = str(message.text)
    try:
        data: Any = orjson.loads(text)
        if message.status == "error" or "error" in data:
            return failure_of(text)
        types = [str(column.get("type")) for column in data["columns"]]
        return TableResult(
            artifact_id=str(data.get("artifact_id") or ""),
            columns=tuple(str(column["name"]) for column in data["columns"]),
            rows=tuple(tuple(map(_cell, types, row)) for row in data["rows"]),
            row_count=int(data["row_count"]),
            is_truncated=bool(data.get("truncated")),
            sql_executed=str(data.get("sql_executed") or ""),
            source=str(data.get("source") or ""),
            sql=sql,
            policy=tuple(str(rule) for rule in data.get("policy") or ()),
            warnings=tuple(str(one) for one in data.get("warnings") or ()),
        )
    except (ValueError, KeyError, TypeError, AttributeError, InvalidOperation):
        return failure_of(text)


def _cell(arrow_type: str, value: Any) -> Any:  # Any: a JSON value
    """The value; a decimal, which JSON has as text, is a number again. `1.10` as text stays one."""
    is_number = arrow_type.startswith(_NUMBERS) and isinstance(value, str)
    return Decimal(value) if is_number else value


def failure_of(text: str) -> ToolFailure:
    """The failure in a tool's error text, JSON or plain."""
    try:
        error: Any = orjson.loads(text)["error"]
        return ToolFailure(str(error["code"]), str(error["message"]))
    except (ValueError, KeyError, TypeError):
        return ToolFailure("error", text[:500])
