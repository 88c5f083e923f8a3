"""The questions of `dataagent init`: provider, model, address and key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session
from prompt_toolkit.shortcuts.choice_input import ChoiceInput
from prompt_toolkit.styles import Style

from dataagent_cli.setup.settings import PROVIDERS, ModelChoice, Provider

if TYPE_CHECKING:
    from dataagent_cli.streams import Streams

_STYLE = Style.from_dict({"selected-option": "bold reverse"})
_PROVIDER_QUESTION = "Which provider? (arrow keys and Enter; Ctrl-C changes nothing)"


async def ask_for_model(streams: Streams, *, present: str) -> ModelChoice:
    """Ask for provider, model, address and key; the `present` model's provider is marked first.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        EOFError: Ctrl-D, or the terminal is gone.
    """
    with create_app_session(output=streams.questions()):
        provider = await _provider(present)
        if not provider.prefix:
            return ModelChoice("offline")
        url = provider.url
        if url is not None:
            url = await _text("Address", url)
        name = await _text("Model", _name_of(present, provider) or provider.example)
        key = await _text("Key (not shown)", is_secret=True) if provider.has_key else ""
        return ModelChoice(f"{provider.prefix}:{name}", url, key or None)


async def ask_yes_no(streams: Streams, question: str) -> bool:
    """Ask a question; anything but yes means no."""
    with create_app_session(output=streams.questions()):
        return (await _text(f"{question} [y/N]")).lower() in ("y", "yes")


async def _provider(present: str) -> Provider:
    prefix = present.partition(":")[0]
    marked = next((each for each in PROVIDERS if each.prefix == prefix), PROVIDERS[0])
    width = max(len(each.title) for each in PROVIDERS) + 2
    options = [(each, f"{each.title:<{width}}{each.summary}") for each in PROVIDERS]
    question = ChoiceInput(
        message=_PROVIDER_QUESTION, options=options, default=marked, symbol="❯", style=_STYLE
    )
    return await question.prompt_async()


def _name_of(present: str, provider: Provider) -> str:
    prefix, _, name = present.partition(":")
    return name if prefix == provider.prefix and provider.url is None else ""


async def _text(label: str, default: str = "", *, is_secret: bool = False) -> str:
    session: PromptSession[str] = PromptSession(is_password=is_secret, reserve_space_for_menu=0)
    return (await session.prompt_async(f"{label}: ", default=default)).strip()
