"""Who a model may come from: what to ask for, and which settings it becomes. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

KEY_SETTINGS: Mapping[str, str] = {
    "openai": "openai_api_key",
    "langchain-openai": "openai_api_key",
    "anthropic": "anthropic_api_key",
}
"""Whose keys can be stored, by the part of a model's name before the colon."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One line of the question, and what follows from it."""

    title: str
    summary: str
    prefix: str = ""  # of the model's name; none: there is nothing more to ask
    example: str = ""
    url: str | None = None  # None: the provider's own; "" has to be asked for
    has_key: bool = False


PROVIDERS = (
    Provider("Offline", "no network and no key: answers by rule, over your data"),
    Provider("Anthropic", "Claude", "anthropic", "claude-sonnet-4-5", has_key=True),
    Provider("OpenAI", "GPT", "openai", "gpt-5-mini", has_key=True),
    Provider(
        "Compatible", "any server that speaks OpenAI's protocol", "openai", url="", has_key=True
    ),
    Provider(
        "Ollama", "models on this machine", "openai", "qwen3", url="http://localhost:11434/v1"
    ),
)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What was chosen: the model, where it is, and the key to it."""

    model: str
    url: str | None = None
    key: str | None = None

    @property
    def key_setting(self) -> str | None:
        """The setting its key belongs to; None for a model whose key we do not keep."""
        return KEY_SETTINGS.get(self.model.partition(":")[0])

    def settings(self) -> dict[str, str | None]:
        """The settings it becomes; None is one that must not be left from before.

        A key goes to the server it was given for: with another address, the old one is forgotten.
        """
        made: dict[str, str | None] = {"model": self.model}
        if self.key_setting == "openai_api_key":
            made |= {"openai_base_url": self.url, "openai_api_key": self.key}
        elif self.key_setting is not None:
            made[self.key_setting] = self.key
        return made
