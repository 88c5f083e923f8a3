"""`/metrics`: what Prometheus reads. For this machine and for administrators, unless opened.

A request counts as this machine's only if nothing says that it was passed on from elsewhere.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from dataagent_core.errors import Unavailable
from dataagent_core.identity import Principal
from dataagent_core.telemetry.metrics import CONTENT_TYPE
from dataagent_server.api.deps import (
    ContainerDep,
    container_of,
    get_current_user,
    require_admin,
)
from dataagent_server.api.route import PublicRoute
from dataagent_server.config.settings import is_loopback

router = APIRouter(tags=["metrics"], route_class=PublicRoute, include_in_schema=False)
_PASSED_ON = ("x-forwarded-for", "x-forwarded-host", "x-real-ip", "forwarded", "via")


async def scraper(request: Request) -> Principal | None:
    """Who reads: an administrator, or None for this machine and where everyone may.

    Raises:
        NotAuthenticated, Denied: as of every route for administrators.
    """
    if container_of(request).settings.metrics_public or _is_local(request):
        return None
    return require_admin(await get_current_user(request))


def _is_local(request: Request) -> bool:
    host = None if request.client is None else request.client.host
    return host is not None and is_loopback(host) and not _is_passed_on(request)


def _is_passed_on(request: Request) -> bool:
    return any(name in request.headers for name in _PASSED_ON)


@router.get("/metrics", operation_id="metrics")
async def metrics(
    _: Annotated[Principal | None, Depends(scraper)], container: ContainerDep
) -> Response:
    """All counts of this process, in Prometheus's text form."""
    counts = container.core.observers.metrics
    with suppress(Unavailable):  # without its database a server still has counts to show
        counts.set_queue_depth(await container.core.runs.queue_depth())
    return Response(counts.text(), media_type=CONTENT_TYPE)
