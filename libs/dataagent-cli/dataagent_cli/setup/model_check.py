"""One real request to a model, to check its name, address and key."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dataagent_core.errors import ModelUnavailable
from dataagent_core.models.factory import close_model

if TYPE_CHECKING:
    from dataagent_core.config import Settings

TRIAL_SECONDS = 20.0
NO_NETWORK = ("offline", "scripted")
"""Models that send no request."""


async def try_model(settings: Settings, *, seconds: float = TRIAL_SECONDS) -> None:
    """Send a short request to the settings' model, unless it needs no network.

    Raises:
        Misconfigured: there is no such model, or its key is missing.
        ModelUnavailable: it cannot be reached, or does not answer in time.
        ModelRefused: it rejected the request.
    """
    quick = settings.model_copy(update={"model_max_retries": 0, "model_timeout": seconds})
    model = quick.create_model()
    if settings.default_model in NO_NETWORK:
        return
    try:
        async with asyncio.timeout(seconds):
            await model.ainvoke("Answer with the word OK.")
    except TimeoutError as error:
        raise ModelUnavailable(f"The model did not answer within {seconds:g} seconds.") from error
    finally:
        await close_model(model)
