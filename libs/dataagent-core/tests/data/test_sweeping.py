"""Artefacts go when their time is over, without anybody asking."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dataagent_core.data.runtime import sweep_expired_artifacts
from dataagent_core.data.service import DataService, QueryContext
from dataagent_core.data.sources import Source
from dataagent_core.errors import ArtifactNotFound
from tests.waiting import WAIT_SECONDS

Register = Callable[..., Awaitable[Source]]


@pytest.mark.parametrize("source_place", ["sqlite"], indirect=True)
async def test_expired_artefact_is_removed_with_its_file_and_its_bytes(
    source_place: Any,
    service: DataService,
    register: Register,
    asked: QueryContext,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source_place.execute("CREATE TABLE t (n INTEGER)")
    source = await register(source_place.url)
    answered = await service.query(source, "SELECT n FROM t", asked)
    artifacts = service.artifacts
    path = artifacts.path_of(answered.artifact)
    assert path.exists()
    monkeypatch.setattr(artifacts, "_now", lambda: datetime.now(UTC) + timedelta(days=31))
    sweeping = asyncio.create_task(sweep_expired_artifacts(artifacts, interval_seconds=0.01))
    async with asyncio.timeout(WAIT_SECONDS):
        while path.exists():
            await asyncio.sleep(0.01)
    sweeping.cancel()
    with suppress(asyncio.CancelledError):
        await sweeping
    assert await artifacts.usage("anna") == 0
    with pytest.raises(ArtifactNotFound):
        await artifacts.get(answered.artifact.artifact_id, owner="anna")
