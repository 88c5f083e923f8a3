"""Models by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from pydantic import SecretStr

from dataagent_core.config import Settings
from dataagent_core.errors import Misconfigured
from dataagent_core.models import factory
from dataagent_core.models.factory import close_model, create_model
from dataagent_core.models.openai_compatible import OPENAI_URL, LeanChatModel
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_offline.model import OfflineChatModel
from tests.requirements import requirement
from tests.standins.openai_server import numbered, openai_server

PROVIDER_KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "MISTRAL_API_KEY")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*PROVIDER_KEYS, "DATAAGENT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@requirement("R6.2", "R6.4")
def test_without_any_key_the_model_is_offline() -> None:
    assert isinstance(Settings().create_model(), OfflineChatModel)


@requirement("R6.2")
def test_models_of_our_own_are_known_by_name() -> None:
    assert isinstance(create_model("offline", Settings()), OfflineChatModel)
    assert isinstance(create_model(" scripted ", Settings()), ScriptedChatModel)


@requirement("R6.1", "R6.2")
def test_openai_is_our_own_client_with_the_key_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    model = Settings(model_timeout=7, model_max_retries=5).create_model("openai:gpt-5")
    assert isinstance(model, LeanChatModel)
    assert model.model_name == "gpt-5"
    assert model.base_url == OPENAI_URL
    assert model.api_key == SecretStr("sk-one")
    assert (model.timeout_seconds, model.max_retries) == (7, 5)
    assert isinstance(Settings().create_model(), LeanChatModel)


@pytest.mark.parametrize("name", ["gpt-5-mini", "openai:gpt-5-mini", "OpenAI:gpt-5-mini"])
def test_a_family_is_known_by_its_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    model = create_model(name, Settings())
    assert isinstance(model, LeanChatModel)
    assert model.model_name == "gpt-5-mini"


def test_a_compatible_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:11434/v1")
    model = create_model("openai:qwen3:8b", Settings())
    assert isinstance(model, LeanChatModel)
    assert model.model_name == "qwen3:8b"
    assert model.api_key is None


def test_langchains_own_client_stays_selectable(monkeypatch: pytest.MonkeyPatch) -> None:
    from langchain_openai import ChatOpenAI

    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    model = create_model("langchain-openai:gpt-5", Settings(model_max_retries=4))
    assert isinstance(model, ChatOpenAI)
    assert model.model_name == "gpt-5"
    assert model.max_retries == 4


@pytest.mark.slow
def test_anthropic_gets_the_key_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    from langchain_anthropic import ChatAnthropic

    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-one")
    model = create_model("anthropic:claude-sonnet-4-5", Settings())
    assert isinstance(model, ChatAnthropic)
    assert model.anthropic_api_key == SecretStr("sk-ant-one")
    assert isinstance(create_model("claude-sonnet-4-5", Settings()), ChatAnthropic)


@requirement("R6.2")
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("langchain-openai:gpt-5", "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("openai:", "openai:MODEL"),
        ("no-such-model", "PROVIDER:MODEL"),
        ("nobody:model", "DATAAGENT_MODEL"),
        ("mistralai:mistral-small", "langchain-mistralai"),
        ("google_genai:gemini-2.5-flash", "cannot be set up"),
        ("", "PROVIDER:MODEL"),
    ],
)
def test_a_name_that_cannot_be_had_says_what_to_set(name: str, says: str) -> None:
    with pytest.raises(Misconfigured) as raised:
        create_model(name, Settings())
    assert says in raised.value.message


async def test_text_is_merged_within_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "TEXT_WINDOW_SECONDS", 60)
    merging = create_model("scripted", Settings())
    monkeypatch.setattr(factory, "TEXT_WINDOW_SECONDS", 0)
    plain = create_model("scripted", Settings())
    assert await _chunks(merging) < 4
    assert await _chunks(plain) == 100


async def _chunks(model: Any) -> int:
    chunks: list[AIMessageChunk] = [chunk async for chunk in model.astream("!slow 100 0")]
    return sum(bool(chunk.content) for chunk in chunks)


async def test_a_model_of_a_compatible_server_answers_and_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with openai_server(numbered(3)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        model = create_model("openai:any", Settings())
        assert (await model.ainvoke("hi")).content == "chunk0 chunk1 chunk2 "
        await close_model(model)
    await close_model(create_model("offline", Settings()))


def test_importing_the_configuration_does_not_import_langchain() -> None:
    code = (
        "import sys, dataagent_core.config, dataagent_core.models.factory;"
        "bad = [m for m in sys.modules if m.split('.')[0] in"
        " {'langchain', 'langchain_core', 'aiohttp', 'openai', 'anthropic', 'deepagents'}];"
        "sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "unwanted"),
    [("offline", "aiohttp"), ("openai:x", "openai"), ("scripted", "langchain_openai")],
)
def test_a_model_imports_only_what_it_needs(name: str, unwanted: str) -> None:
    code = (
        "import sys; from dataagent_core.config import Settings;"
        f"Settings(openai_api_key='k').create_model({name!r});"
        f"sys.exit({unwanted!r} in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
