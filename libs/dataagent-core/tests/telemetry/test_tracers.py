"""LangSmith and Langfuse by their own variables: who is on, how many are sent, how they end."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.errors import Misconfigured
from dataagent_core.telemetry import RunTrace, open_traces
from tests.requirements import requirement
from tests.standins.collector import collecting
from tests.standins.langsmith_runs import runs_of, tree
from tests.standins.langsmith_server import langsmith
from tests.waiting import WAIT_SECONDS

KEY = "lsv2_pt_0123456789abcdef"


def settings(**values: Any) -> Settings:
    given: dict[str, Any] = {"model": "scripted", "sample_data": False, **values}
    # pydantic-settings takes it
    return Settings(_env_file=None, **given)  # pyright: ignore[reportCallIssue]


def a_run() -> RunTrace:
    return RunTrace(run_id="run-1", session_id="session-1", user_id="alice", agent="agent")


@requirement("R28.1")
@pytest.mark.parametrize("name", ["LANGSMITH_TRACING", "LANGSMITH_TRACING_V2"])
@pytest.mark.parametrize(("written", "is_on"), [("true", True), ("True", True), ("1", True)])
def test_langsmith_is_on_however_yes_is_written(
    name: str, written: str, is_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, written)
    monkeypatch.setenv("LANGSMITH_API_KEY", KEY)
    read = Settings()
    assert read.langsmith_tracing is is_on
    assert read.langsmith_api_key is not None


@pytest.mark.parametrize("written", ["", "false", "0"])
def test_langsmith_is_off_however_no_is_written(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", written)
    assert not open_traces(Settings()).has_langsmith


@pytest.mark.parametrize(
    ("set_to", "hint"),
    [
        ({"LANGSMITH_TRACING": "true"}, "LANGSMITH_API_KEY"),
        ({"LANGCHAIN_TRACING": "1"}, "LANGSMITH_TRACING=true"),
    ],
)
def test_what_would_break_every_run_is_said_at_the_start(
    set_to: dict[str, str], hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in set_to.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Misconfigured, match=hint):
        open_traces(Settings())


@requirement("R28.2")
async def test_a_cancelled_run_has_its_end_at_langsmith(tmp_path: Path) -> None:
    with langsmith() as found:
        chosen = settings(
            home=tmp_path,
            agents_home=tmp_path / "agents",
            langsmith_tracing=True,
            langsmith_api_key=KEY,
            langsmith_endpoint=found.url,
        )
        async with open_core(chosen) as core:
            session = await core.sessions.get_or_create_session("alice", "agent")
            started = await core.runs.start(session.session_id, "!slow 500 20", owner="alice")
            async with asyncio.timeout(WAIT_SECONDS):
                async for entry in core.runs.read(started.run.run_id):
                    if entry.event_type == "text":
                        await core.runs.cancel(started.run.run_id, owner="alice")
    runs = runs_of(found)
    assert tree(runs) == snapshot("""\
invoke_agent agent [chain] FAILED cancelled
  main [chain] FAILED CancelledError
    model [chain] FAILED CancelledError
      ScriptedChatModel [llm] FAILED cancelled
  mainUpdateState [chain]\
""")
    [root] = [run for run in runs.values() if run.fields.get("parent_run_id") is None]
    assert root.metadata["trace_id"] == started.run.run_id  # nobody else traced


@pytest.mark.slow
async def test_a_langsmith_that_does_not_answer_holds_nothing_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        traces = open_traces(
            settings(langsmith_tracing=True, langsmith_api_key=KEY, langsmith_endpoint=url)
        )
        with traces.run(a_run()):
            pass
        async with asyncio.timeout(WAIT_SECONDS):
            await traces.aclose()


@pytest.mark.parametrize(("rate", "runs"), [(0.0, 0), (1.0, 1)])
async def test_each_tracer_takes_its_share_of_the_runs(rate: float, runs: int) -> None:
    with langsmith() as smith, collecting() as langfuse:
        traces = open_traces(
            settings(
                langsmith_tracing=True,
                langsmith_api_key=KEY,
                langsmith_endpoint=smith.url,
                langsmith_tracing_sampling_rate=rate,
                langfuse_public_key="pk-lf-1",
                langfuse_secret_key="sk-lf-1",
                langfuse_base_url=langfuse.url,
                langfuse_sample_rate=rate,
            )
        )
        with traces.span("GET /api/v1/sessions"), traces.run(a_run()):
            pass
        await traces.aclose()
    assert len(runs_of(smith)) == runs
    assert [span.name for span in langfuse.spans] == ["invoke_agent agent"] * runs


@pytest.mark.parametrize(
    ("sampler", "share", "flags", "names"),
    [
        ("parentbased_always_on", 1.0, "01", ["request"]),
        ("parentbased_always_on", 1.0, "00", []),
        ("always_on", 1.0, "00", ["request"]),
        ("always_off", 1.0, "01", []),
        ("traceidratio", 0.0, "01", []),
        ("parentbased_traceidratio", 0.0, "01", ["request"]),
    ],
)
async def test_the_sampler_is_the_one_that_is_named(
    sampler: str, share: float, flags: str, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
        monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", str(share))
        traces = open_traces(Settings())
        parent = f"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flags}"
        with traces.span("request", headers={"traceparent": parent}):
            assert traces.trace_id == "0af7651916cd43dd8448eb211c80319c"
        await traces.aclose()
    assert [span.name for span in collector.spans] == names


def test_langfuse_needs_both_keys_and_nobody_who_says_no() -> None:
    both: dict[str, Any] = {"langfuse_public_key": "pk-lf-1", "langfuse_secret_key": "sk-lf-1"}
    assert settings(**both).has_langfuse
    assert not settings(**both, langfuse_tracing_enabled=False).has_langfuse
    assert not settings(langfuse_public_key="pk-lf-1").has_langfuse
