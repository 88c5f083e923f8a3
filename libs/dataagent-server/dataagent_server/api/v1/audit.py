"""`/api/v1/audit`: who did what. For administrators."""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_server.api.route import PrivateRoute
from dataagent_server.deps.providers import AdminUser, AuditDep
from dataagent_server.models.audit import AuditInfo, AuditSearch, AuditVerdict
from dataagent_server.models.fields import Page

router = APIRouter(prefix="/audit", tags=["audit"], route_class=PrivateRoute)


@router.get("", operation_id="list_audit")
async def list_audit(_: AdminUser, audit: AuditDep, search: AuditSearch) -> Page[AuditInfo]:
    """What happened, the newest first. What runs did shows within half a second."""
    found, total = await audit.list(search.wanted, limit=search.limit, offset=search.offset)
    return Page[AuditInfo](items=[AuditInfo.of(each) for each in found], total=total)


@router.get("/verify", operation_id="verify_audit")
async def verify_audit(_: AdminUser, audit: AuditDep) -> AuditVerdict:
    """Walk along the chain of hashes: was a row changed, removed, inserted or moved?"""
    return AuditVerdict.of(await audit.verify())
