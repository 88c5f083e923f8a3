"""What the tests of models share."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from dataagent_core.models.openai_compatible import LeanChatModel
from tests.standins.openai_server import StandIn


@asynccontextmanager
async def _lean(server: StandIn, **options: Any) -> AsyncGenerator[LeanChatModel]:
    options = {"retry_base_seconds": 0.0, "max_retries": 2, **options}
    key = SecretStr("sk-very-secret-key-123456")
    model = LeanChatModel(model="any", base_url=server.base_url, api_key=key, **options)
    try:
        yield model
    finally:
        await model.aclose()


@pytest.fixture
def lean() -> Callable[..., AbstractAsyncContextManager[LeanChatModel]]:
    """Makes a model of a stand-in server, with options, and closes it at the end of the block."""
    return _lean
