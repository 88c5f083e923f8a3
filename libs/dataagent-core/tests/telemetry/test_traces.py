"""Spans reach a collector when one is named, below each other, and cost nothing when none is."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.config import Settings
from dataagent_core.runs.assembly import open_core
from dataagent_core.telemetry import Traces, open_traces
from tests.standins.collector import attributes, collecting


def settings(home: Path, endpoint: str | None = None) -> Settings:
    values: dict[str, Any] = {
        "home": home,
        "agents_home": home / "agents",
        "model": "scripted",
        "sample_data": False,
        "otel_exporter_otlp_endpoint": endpoint,
    }
    return Settings(_env_file=None, **values)  # pyright: ignore[reportCallIssue] pydantic-settings takes it


def test_without_a_collector_nothing_is_imported_and_spans_are_empty() -> None:
    code = """
import sys
from dataagent_core.config import Settings
from dataagent_core.telemetry import open_traces
traces = open_traces(Settings(_env_file=None))
with traces.span("a", {"b": 1}) as span:
    assert span is None
assert traces.is_on is False
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_variable_every_tool_knows_turns_it_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert not open_traces(settings(tmp_path)).is_on
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shop")
    read = Settings()
    assert read.otel_exporter_otlp_endpoint == "http://127.0.0.1:4318/"
    assert read.otel_service_name == "shop"


async def test_a_run_its_model_calls_and_its_tool_calls_are_one_tree(tmp_path: Path) -> None:
    with collecting() as collector:
        async with open_core(settings(tmp_path, collector.url)) as core:
            session = await core.sessions.get_or_create_session("alice", "agent")
            message = '!tool think_tool {"reflection": "private matter"}'
            with core.observers.traces.span("request"):
                started = await core.runs.start(session.session_id, message, owner="alice")
                async for _ in core.runs.read(started.run.run_id):
                    pass
    assert collector.services == {"dataagent"}
    [run] = collector.named("run")
    named = attributes(run)
    assert named["run_id"] == started.run.run_id
    assert named["user_id"] == "alice"
    above = collector.parent_of(run)
    assert above is not None
    assert above.name == "request"
    models, tools = collector.named("model"), collector.named("tool")
    assert len(models) == 2
    assert [attributes(tool)["tool"] for tool in tools] == ["think_tool"]
    for span in (*models, *tools):
        assert span.parent_span_id == run.span_id
        assert span.trace_id == run.trace_id
    assert b"private matter" not in collector.raw


async def test_what_fails_is_marked_without_its_text(tmp_path: Path) -> None:
    with collecting() as collector:
        traces = open_traces(settings(tmp_path, collector.url))
        with pytest.raises(RuntimeError), traces.span("outer"):
            raise RuntimeError("password=hunter22")
        with pytest.raises(asyncio.CancelledError), traces.span("stopped"):
            raise asyncio.CancelledError
        await traces.aclose()
    [outer] = collector.named("outer")
    assert attributes(outer)["error.type"] == "RuntimeError"
    assert outer.status.code == 2
    assert collector.named("stopped")[0].status.code == 0
    assert b"hunter22" not in collector.raw


async def test_a_caller_may_say_which_span_it_belongs_to(tmp_path: Path) -> None:
    with collecting() as collector:
        traces = open_traces(settings(tmp_path, collector.url))
        trace_id, span_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
        headers = {"traceparent": f"00-{trace_id}-{span_id}-01"}
        with traces.span("request", headers=headers):
            pass
        with traces.span("other", headers={"traceparent": "nonsense"}):
            pass
        await traces.aclose()
    [request] = collector.named("request")
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (trace_id, span_id)
    assert collector.named("other")[0].parent_span_id == b""


async def test_a_collector_that_is_not_there_holds_nothing_up(tmp_path: Path) -> None:
    traces = open_traces(settings(tmp_path, "http://127.0.0.1:1"))
    with traces.span("lost"):
        pass
    async with asyncio.timeout(30):
        await traces.aclose()


def test_nothing_is_the_same_for_everyone() -> None:
    make: Callable[[], Any] = lambda: Traces().span("x")  # noqa: E731 what a caller does
    assert make() is make()
