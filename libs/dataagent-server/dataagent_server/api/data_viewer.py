"""Looking at data as another user would: for administrators, and never without a record.

What the address names in `as_user` decides what may be read; who asks stays who they are, so
results are theirs. Above: the routes that read data. Below: `auth/`, the core's `data/`, `audit/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Request

from dataagent_core.data.sources import Source
from dataagent_core.data.types import Reader
from dataagent_core.identity import Principal
from dataagent_server.api.deps import (
    ContainerDep,
    CurrentUser,
    DataDep,
    require_admin,
)
from dataagent_server.models.fields import Id, PathId

AsUser = Annotated[
    Id | None, Query(description="Look as this user would; for administrators, and recorded.")
]


@dataclass(frozen=True, slots=True)
class DataViewer:
    """What is read as whom; `impersonator_id` is set if somebody looks as another would."""

    reader: Reader
    impersonator_id: str | None = None


async def _data_viewer(
    request: Request, user: CurrentUser, container: ContainerDep, as_user: AsUser = None
) -> DataViewer:
    data = container.core.data.service
    if as_user is None:
        own = await data.reader(user.user_id, role=user.role, tenant_id=user.tenant_id)
        return DataViewer(own)
    await _record(request, container, user, as_user)
    require_admin(user)
    other = await container.auth.principal_for(as_user)
    reader = await data.reader(other.user_id, role=other.role, tenant_id=other.tenant_id)
    return DataViewer(reader, impersonator_id=user.user_id)


async def _record(request: Request, container: ContainerDep, user: Principal, as_user: str) -> None:
    """Keep who looked as whom, or tried to, before anything is shown."""
    await container.core.observers.audit.record(
        "view_as_user",
        "success" if user.is_admin else "denied",
        target=as_user,
        user_id=user.user_id,
        via=user.via,
        details={"address": request.url.path},
    )


DataViewerDep = Annotated[DataViewer, Depends(_data_viewer)]


async def _viewed_source(source_id: PathId, viewer: DataViewerDep, data: DataDep) -> Source:
    """The data source an address names, by id or name, if whoever looks may see it."""
    return await data.sources.get_for(source_id, viewer.reader)


ViewedSourceDep = Annotated[Source, Depends(_viewed_source)]
