"""Rows of the audit log as a file: CSV for spreadsheets, JSON lines for programs. Pure.

Every field of a row is in both, the hashes too, so that a copy can be checked against the log. In
CSV a text that a spreadsheet would run as a formula gets an apostrophe in front. Above:
`v1/audit.py`, which sends it. Below: `models/audit.py`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from typing import Any

import orjson

from dataagent_core.audit import AuditRow
from dataagent_server.models.audit import AuditFormat, AuditInfo

MEDIA_TYPES: dict[AuditFormat, str] = {"csv": "text/csv", "jsonl": "application/jsonl"}
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_FIELDS = tuple(AuditInfo.model_fields)


async def audit_file(
    pages: AsyncIterable[list[AuditRow]], fmt: AuditFormat
) -> AsyncGenerator[bytes]:
    """The file, a piece for each page."""
    if fmt == "csv":
        yield _csv_lines([_FIELDS])
    async for page in pages:
        rows = [AuditInfo.of(row).model_dump(mode="json") for row in page]
        if fmt == "csv":
            yield _csv_lines([_cell(row[name]) for name in _FIELDS] for row in rows)
        else:
            yield b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def _csv_lines(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _cell(value: Any) -> str:  # Any: a field of a row, as JSON has it
    match value:
        case None:
            return ""
        case str():
            return f"'{value}" if _FORMULA.match(value) else value
        case _:
            return orjson.dumps(value).decode()
