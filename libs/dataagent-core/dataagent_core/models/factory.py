"""Creates chat models by name: the one place that maps names to classes.

    offline                 no network; answers by rule (the package `dataagent-offline`)
    scripted                follows directives in the user's message (`models/scripted.py`)
    openai:MODEL            our own client for any OpenAI-compatible endpoint (OPENAI_BASE_URL)
    langchain-openai:MODEL  the same through langchain-openai and OpenAI's SDK
    anthropic:MODEL         through langchain-anthropic
    NAME or NAME:MODEL      an entry point `dataagent.models` of an installed package
    PROVIDER:MODEL          any provider of LangChain's `init_chat_model`

An entry point names a function of (model name, settings) that returns a `BaseChatModel`. Every
model streams through `models/merge.py`. Packages are imported when their name is used.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationError

from dataagent_core.config.settings import Settings
from dataagent_core.errors import Misconfigured

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

TEXT_WINDOW_SECONDS = 0.02
"""Text that a model sends within this time becomes one event."""
_EXAMPLES: Final = "openai:gpt-5-mini, anthropic:claude-sonnet-4-5, offline or scripted"
_GROUP: Final = "dataagent.models"
_FAMILIES: Final = (
    (("gpt-", "chatgpt", "o1", "o3", "o4"), "openai"),
    (("claude",), "anthropic"),
)
"""Prefixes of model names, and the provider they mean."""


def create_model(name: str, settings: Settings) -> BaseChatModel:
    """Create the chat model of this name, with keys and limits from `settings`.

    Raises:
        Misconfigured: no such model, or its package or key is missing; the message says what to do.
    """
    from dataagent_core.models.merge import TextWindow, merge_chunks

    provider, model_name = _split(name.strip())
    build = _BUILDERS.get(provider) or _plugged_in(provider)
    model = build(model_name, settings) if build else _any_other(provider, model_name, settings)
    return merge_chunks(model, TextWindow(TEXT_WINDOW_SECONDS))


async def close_model(model: BaseChatModel) -> None:
    """Close a model's connections on this loop, if it has some."""
    close = getattr(model, "aclose", None)
    if close is not None:
        await close()


def _split(name: str) -> tuple[str, str]:
    provider, colon, model_name = name.partition(":")
    if colon:
        return provider.strip().lower(), model_name.strip()
    for starts, family in _FAMILIES:
        if name.startswith(starts):
            return family, name
    return name, ""


def _plugged_in(provider: str) -> Callable[[str, Settings], BaseChatModel] | None:
    """What an installed package offers under this name."""
    found = entry_points(group=_GROUP, name=provider)
    return next((each.load() for each in found), None)


def _scripted(model_name: str, settings: Settings) -> BaseChatModel:
    from dataagent_core.models.scripted import ScriptedChatModel

    return ScriptedChatModel()


def _openai(model_name: str, settings: Settings) -> BaseChatModel:
    from dataagent_core.models.openai_compatible import OPENAI_URL, LeanChatModel

    return LeanChatModel(
        model=_named(model_name, "openai"),
        base_url=settings.openai_base_url or OPENAI_URL,
        api_key=_openai_key(settings),
        timeout_seconds=settings.model_timeout,
        max_retries=settings.model_max_retries,
    )


def _langchain_openai(model_name: str, settings: Settings) -> BaseChatModel:
    key = _openai_key(settings) or SecretStr("not needed")
    options: dict[str, Any] = {
        "api_key": key,
        "base_url": settings.openai_base_url,
        "stream_usage": True,
        **_limits(settings),
    }
    return _initialised("openai", _named(model_name, "langchain-openai"), options)


def _anthropic(model_name: str, settings: Settings) -> BaseChatModel:
    if not settings.anthropic_api_key:
        raise Misconfigured("Models of Anthropic need a key: set ANTHROPIC_API_KEY.")
    options = {"api_key": settings.anthropic_api_key, **_limits(settings)}
    return _initialised("anthropic", _named(model_name, "anthropic"), options)


def _any_other(provider: str, model_name: str, settings: Settings) -> BaseChatModel:
    if not model_name:
        raise Misconfigured(
            f"There is no model {provider!r}. Set DATAAGENT_MODEL to PROVIDER:MODEL, "
            f"for example {_EXAMPLES}."
        )
    return _initialised(provider, model_name, {})


def _initialised(provider: str, model_name: str, options: dict[str, Any]) -> BaseChatModel:
    """LangChain's own class for a provider; its complaints become ours."""
    from langchain.chat_models import init_chat_model

    from dataagent_core.models.failures import presentable

    make = cast("Callable[..., BaseChatModel]", init_chat_model)  # its overloads are not typed
    full_name = f"{provider}:{model_name}"
    try:
        return make(model_name, model_provider=provider, **options)
    except ImportError as error:
        raise Misconfigured(
            f"Model {full_name!r} needs a package that is not installed: {error}"
        ) from error
    except ValidationError as error:
        said = "; ".join(str(each["msg"]) for each in error.errors(include_input=False))
        raise Misconfigured(f"Model {full_name!r} cannot be set up: {said}") from error
    except Exception as error:
        raise Misconfigured(
            f"Model {full_name!r} cannot be set up: {presentable(str(error)).rstrip('.')}. "
            f"Set DATAAGENT_MODEL to PROVIDER:MODEL, for example {_EXAMPLES}, and the provider's "
            "key."
        ) from error


def _openai_key(settings: Settings) -> SecretStr | None:
    """The key; servers other than OpenAI's own may go without one."""
    key = settings.openai_api_key
    host = urlsplit(settings.openai_base_url or "").hostname or "api.openai.com"
    if not key and host.endswith("openai.com"):
        raise Misconfigured(
            "Models of OpenAI need a key: set OPENAI_API_KEY, or OPENAI_BASE_URL for a "
            "compatible server."
        )
    return key


def _limits(settings: Settings) -> dict[str, Any]:
    return {"timeout": settings.model_timeout, "max_retries": settings.model_max_retries}


def _named(model_name: str, provider: str) -> str:
    if not model_name:
        raise Misconfigured(f"Which model of {provider!r}? Write {provider}:MODEL.")
    return model_name


_BUILDERS: Final[dict[str, Callable[[str, Settings], BaseChatModel]]] = {
    "scripted": _scripted,
    "openai": _openai,
    "langchain-openai": _langchain_openai,
    "anthropic": _anthropic,
}
