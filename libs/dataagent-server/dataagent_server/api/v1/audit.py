"""`/api/v1/audit`: the audit log, for administrators; as pages, and exported as CSV or JSON lines.

Both formats have every field of a row, the hashes too, so that a copy can be checked against the
log. In CSV a text that a spreadsheet would run as a formula gets an apostrophe in front.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from typing import Any

import orjson
from fastapi import APIRouter
from starlette.responses import Response

from dataagent_core.audit import AuditRow
from dataagent_server.api.deps import AdminUser, AuditDep, ContainerDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.api.streaming import Download, file_headers
from dataagent_server.models.audit import (
    AuditFormat,
    AuditInfo,
    AuditSearch,
    AuditVerdict,
    AuditWhole,
)
from dataagent_server.models.fields import Page

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


router = APIRouter(prefix="/audit", tags=["audit"], route_class=PrivateRoute)
_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file",
        "content": {
            media: {"schema": {"type": "string", "format": "binary"}}
            for media in MEDIA_TYPES.values()
        },
    }
}


@router.get("", operation_id="list_audit")
async def list_audit(_: AdminUser, audit: AuditDep, search: AuditSearch) -> Page[AuditInfo]:
    """The audit log, newest first. Records of runs appear within half a second."""
    found, total = await audit.list(search.wanted, limit=search.limit, offset=search.offset)
    return Page[AuditInfo](items=[AuditInfo.of(each) for each in found], total=total)


@router.get("/export", operation_id="export_audit", response_class=Response, responses=_FILES)
async def export_audit(
    _: AdminUser, audit: AuditDep, search: AuditWhole, container: ContainerDep
) -> Download:
    """The matching records, oldest first, as a file. It is complete, or visibly cut off.

    The export itself is recorded.
    """
    return Download(
        lambda: audit_file(audit.pages(search.wanted), search.format),
        capacity=container.capacity,
        headers=file_headers("audit", search.format),
        media_type=MEDIA_TYPES[search.format],
    )


@router.get("/verify", operation_id="verify_audit")
async def verify_audit(_: AdminUser, audit: AuditDep) -> AuditVerdict:
    """Verify the chain of hashes: whether a row was changed, removed, inserted or moved."""
    return AuditVerdict.of(await audit.verify())
