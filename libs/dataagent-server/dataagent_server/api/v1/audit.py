"""`/api/v1/audit`: who did what. For administrators."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from dataagent_server.api.audit_file import MEDIA_TYPES, audit_file
from dataagent_server.api.deps import AdminUser, AuditDep, ContainerDep
from dataagent_server.api.download import Download, file_headers
from dataagent_server.api.route import PrivateRoute
from dataagent_server.models.audit import AuditInfo, AuditSearch, AuditVerdict, AuditWhole
from dataagent_server.models.fields import Page

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
    """What happened, the newest first. What runs did shows within half a second."""
    found, total = await audit.list(search.wanted, limit=search.limit, offset=search.offset)
    return Page[AuditInfo](items=[AuditInfo.of(each) for each in found], total=total)


@router.get("/export", operation_id="export_audit", response_class=Response, responses=_FILES)
async def export_audit(
    _: AdminUser, audit: AuditDep, search: AuditWhole, container: ContainerDep
) -> Download:
    """All that happened and fits, the oldest first, as a file. It ends whole or is cut off visibly.

    Who took a copy is itself in the log.
    """
    return Download(
        lambda: audit_file(audit.pages(search.wanted), search.format),
        capacity=container.capacity,
        headers=file_headers("audit", search.format),
        media_type=MEDIA_TYPES[search.format],
    )


@router.get("/verify", operation_id="verify_audit")
async def verify_audit(_: AdminUser, audit: AuditDep) -> AuditVerdict:
    """Walk along the chain of hashes: was a row changed, removed, inserted or moved?"""
    return AuditVerdict.of(await audit.verify())
