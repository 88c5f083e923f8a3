"""`/metrics`: counts for Prometheus; for this machine and administrators, unless made public.

A request counts as local only if no header says that a proxy passed it on.
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
_PROXY_HEADERS = ("x-forwarded-for", "x-forwarded-host", "x-real-ip", "forwarded", "via")


async def scraper(request: Request) -> Principal | None:
    """The reader: an administrator, or None for this machine and for public metrics.

    Raises:
        NotAuthenticated, Denied: as of every route for administrators.
    """
    if container_of(request).settings.metrics_public or _is_local(request):
        return None
    return require_admin(await get_current_user(request))


def _is_local(request: Request) -> bool:
    host = None if request.client is None else request.client.host
    return host is not None and is_loopback(host) and not _is_proxied(request)


def _is_proxied(request: Request) -> bool:
    return any(name in request.headers for name in _PROXY_HEADERS)


@router.get("/metrics", operation_id="metrics")
async def metrics(
    _: Annotated[Principal | None, Depends(scraper)], container: ContainerDep
) -> Response:
    """All counts of this process, in Prometheus's text format."""
    counts = container.core.observers.metrics
    with suppress(Unavailable):  # the other counts need no database
        counts.set_queue_depth(await container.core.runs.queue_depth())
    return Response(counts.text(), media_type=CONTENT_TYPE)
