"""What `dataagent init` asks a person: whose model, which one, where, and the key.

The questions go to standard error. Above: `init.py`.
"""

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
_WHO = "Whose model answers? (arrow keys and Enter; Ctrl-C leaves everything as it is)"


async def ask_for_model(streams: Streams, *, present: str) -> ModelChoice:
    """Ask for everything; the `present` model's provider is marked to begin with.

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
    """A question whose answer is no unless it is yes."""
    with create_app_session(output=streams.questions()):
        return (await _text(f"{question} [y/N]")).lower() in ("y", "yes")


async def _provider(present: str) -> Provider:
    prefix = present.partition(":")[0]
    marked = next((each for each in PROVIDERS if each.prefix == prefix), PROVIDERS[0])
    width = max(len(each.title) for each in PROVIDERS) + 2
    options = [(each, f"{each.title:<{width}}{each.summary}") for each in PROVIDERS]
    asked = ChoiceInput(message=_WHO, options=options, default=marked, symbol="❯", style=_STYLE)
    return await asked.prompt_async()


def _name_of(present: str, provider: Provider) -> str:
    prefix, _, name = present.partition(":")
    return name if prefix == provider.prefix and provider.url is None else ""


async def _text(label: str, default: str = "", *, is_secret: bool = False) -> str:
    session: PromptSession[str] = PromptSession(is_password=is_secret, reserve_space_for_menu=0)
    return (await session.prompt_async(f"{label}: ", default=default)).strip()
