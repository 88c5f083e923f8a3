"""Spans reach a collector when one is named, below each other, and cost nothing when none is."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.events import DoneEvent, HITLRequestEvent
from dataagent_core.hitl import Decision
from dataagent_core.runs.types import RunOptions
from dataagent_core.telemetry import Traces, open_traces
from tests.services import fresh_database, fresh_redis_prefix, redis_url
from tests.standins.collector import attributes, collecting
from tests.waiting import WAIT_SECONDS

TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
ALL_BUT_ERRORS = r"^(?!error\.)"


def settings(home: Path, endpoint: str | None = None, **others: Any) -> Settings:
    values: dict[str, Any] = {
        "home": home,
        "agents_home": home / "agents",
        "model": "scripted",
        "sample_data": False,
        "otel_exporter_otlp_endpoint": endpoint,
        **others,
    }
    # pydantic-settings takes it
    return Settings(_env_file=None, **values)  # pyright: ignore[reportCallIssue]


def test_without_a_collector_nothing_is_imported_and_spans_are_empty() -> None:
    code = """
import sys
from dataagent_core.config import Settings
from dataagent_core.telemetry import open_traces
traces = open_traces(Settings(_env_file=None))
with traces.span("a", {"b": 1}) as span:
    assert span is None
assert traces.is_on is False
print([name for name in sys.modules if name.startswith(("opentelemetry", "langsmith"))])
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
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
    [run] = collector.named("invoke_agent agent")
    named = attributes(run)
    assert named["dataagent.run_id"] == started.run.run_id
    assert named["user.id"] == "alice"
    above = collector.parent_of(run)
    assert above is not None
    assert above.name == "request"
    models, tools = collector.named("chat scripted"), collector.named("execute_tool think_tool")
    assert len(models) == 2
    assert len(tools) == 1
    for span in (*models, *tools):
        assert span.parent_span_id == run.span_id
        assert span.trace_id == run.trace_id
    assert b"private matter" not in collector.raw


async def run_of(core: Core, message: str, **options: Any) -> tuple[str, DoneEvent]:
    """A run of alice's to its end."""
    session = await core.sessions.get_or_create_session("alice", "agent")
    rules = RunOptions(**options)
    started = await core.runs.start(session.session_id, message, owner="alice", options=rules)
    entries = [entry async for entry in core.runs.read(started.run.run_id)]
    done = entries[-1].event
    assert isinstance(done, DoneEvent)
    return started.run.run_id, done


async def test_a_model_that_breaks_and_a_tool_that_is_refused_are_failures(tmp_path: Path) -> None:
    message = '!tool think_tool {"reflection": "x"}\n!fail'
    with collecting() as collector:
        async with open_core(settings(tmp_path, collector.url)) as core:
            await run_of(core, message, deny=("think_tool",))
    assert collector.tree(hidden=ALL_BUT_ERRORS) == snapshot("""\
invoke_agent agent [dataagent internal] FAILED
  . error.type = model_refused
  chat scripted [dataagent client]
  execute_tool think_tool [dataagent internal] FAILED
    . error.type = denied
  chat scripted [dataagent client] FAILED
    . error.type = model_refused\
""")


async def test_a_run_that_is_cancelled_closes_its_spans_and_has_not_failed(tmp_path: Path) -> None:
    with collecting() as collector:
        async with open_core(settings(tmp_path, collector.url)) as core:
            session = await core.sessions.get_or_create_session("alice", "agent")
            started = await core.runs.start(session.session_id, "!slow 500 20", owner="alice")
            async with asyncio.timeout(WAIT_SECONDS):
                async for entry in core.runs.read(started.run.run_id):
                    if entry.event_type == "text":
                        await core.runs.cancel(started.run.run_id, owner="alice")
    assert collector.tree(hidden=ALL_BUT_ERRORS) == snapshot("""\
invoke_agent agent [dataagent internal]
  . error.type = cancelled
  chat scripted [dataagent client]
    . error.type = cancelled\
""")


async def test_asking_a_person_is_no_failure(tmp_path: Path) -> None:
    message = '!tool write_file {"file_path": "/a.txt", "content": "b"}\n!echo done'
    with collecting() as collector:
        async with open_core(settings(tmp_path, collector.url)) as core:
            session = await core.sessions.get_or_create_session("alice", "agent")
            started = await core.runs.start(session.session_id, message, owner="alice")
            run_id = started.run.run_id
            async with asyncio.timeout(WAIT_SECONDS):
                async for entry in core.runs.read(run_id):
                    if isinstance(entry.event, HITLRequestEvent):
                        request_id = entry.event.request_id
                        yes = Decision("approve")
                        await core.runs.decide(run_id, request_id, yes, owner="alice")
    assert collector.tree(hidden=ALL_BUT_ERRORS) == snapshot("""\
invoke_agent agent [dataagent internal]
  chat scripted [dataagent client]
  execute_tool write_file [dataagent internal]
  chat scripted [dataagent client]\
""")


@pytest.mark.slow
async def test_a_run_that_a_worker_takes_belongs_to_the_request_that_asked(tmp_path: Path) -> None:
    with (
        collecting() as collector,
        fresh_database("postgres", tmp_path) as url,
        fresh_redis_prefix() as prefix,
    ):
        shared: dict[str, Any] = {
            "database_url": url,
            "redis_url": redis_url(),
            "redis_prefix": prefix,
            "runs_in": "workers",
        }
        door = settings(tmp_path, collector.url, **shared, otel_service_name="door")
        worker = settings(tmp_path, collector.url, **shared, otel_service_name="worker")
        async with open_core(worker, role="worker"), open_core(door, role="web") as core:
            headers = {"traceparent": f"00-{TRACE_ID}-{SPAN_ID}-01"}
            with core.observers.traces.span("request", headers=headers):
                await run_of(core, '!tool think_tool {"reflection": "x"}')
    assert collector.tree(hidden=ALL_BUT_ERRORS) == snapshot("""\
request [door internal]
  invoke_agent agent [worker internal]
    chat scripted [worker client]
    execute_tool think_tool [worker internal]
    chat scripted [worker client]\
""")
    assert {span.trace_id.hex() for span in collector.spans} == {TRACE_ID}


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
    [stopped] = collector.named("stopped")
    assert attributes(stopped)["error.type"] == "cancelled"
    assert stopped.status.code == 0
    assert b"hunter22" not in collector.raw


async def test_a_caller_may_say_which_span_it_belongs_to(tmp_path: Path) -> None:
    with collecting() as collector:
        traces = open_traces(settings(tmp_path, collector.url))
        headers = {"traceparent": f"00-{TRACE_ID}-{SPAN_ID}-01"}
        with traces.span("request", headers=headers):
            pass
        with traces.span("other", headers={"traceparent": "nonsense"}):
            pass
        await traces.aclose()
    [request] = collector.named("request")
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (TRACE_ID, SPAN_ID)
    assert collector.named("other")[0].parent_span_id == b""


@pytest.mark.slow
async def test_a_collector_that_is_not_there_holds_nothing_up(tmp_path: Path) -> None:
    traces = open_traces(settings(tmp_path, "http://127.0.0.1:1"))
    with traces.span("lost"):
        pass
    async with asyncio.timeout(WAIT_SECONDS):
        await traces.aclose()


def test_nothing_is_the_same_for_everyone() -> None:
    make: Callable[[], Any] = lambda: Traces().span("x")  # noqa: E731 what a caller does
    assert make() is make()
