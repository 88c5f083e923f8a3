"""The chat model `offline`: it answers by rule, without a key or a network.

The core finds it by its entry point in the group `dataagent.models`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from dataagent_core.config import Settings

__all__ = ["create"]


def create(model_name: str, settings: Settings) -> BaseChatModel:
    """Make the model; there is only one, and it has no settings."""
    from dataagent_offline.model import OfflineChatModel

    return OfflineChatModel()
