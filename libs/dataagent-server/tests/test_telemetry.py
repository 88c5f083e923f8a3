"""A request, its run and its calls are one trace, and log lines name them; refusals are brief."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from dataagent_core.errors import QueryTimedOut, QuotaExceeded, StorageUnavailable
from dataagent_core.telemetry import configure_logging
from dataagent_server.api.errors import error_response
from tests.requirements import requirement
from tests.standins.collector import attributes, collecting

if TYPE_CHECKING:
    from conftest import LiveServer


async def test_a_request_its_run_and_its_calls_are_one_trace(
    start_server: Callable[..., LiveServer],
) -> None:
    with collecting() as collector:
        server = start_server(otel_exporter_otlp_endpoint=collector.url)
        message = '!tool think_tool {"reflection": "private matter"}'
        async with server.http(headers={"X-Request-Id": "traced-1"}) as http:
            answer = (await http.post("/api/v1/chat", json={"message": message})).json()
            await http.get("/api/v1/health")
        server.stop()
    [request] = collector.named("POST /api/v1/chat")
    named = attributes(request)
    assert named["http.response.status_code"] == 200
    assert named["dataagent.request_id"] == "traced-1"
    [run] = [span for span in collector.spans if span.name.startswith("invoke_agent ")]
    assert attributes(run)["dataagent.run_id"] == answer["run_id"]
    assert run.parent_span_id == request.span_id
    for name in ("chat scripted", "execute_tool think_tool"):
        assert collector.named(name)
        assert {span.trace_id for span in collector.named(name)} == {request.trace_id}
    assert not any("health" in span.name for span in collector.spans)
    assert b"private matter" not in collector.raw
    assert b"alice-key" not in collector.raw


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What is logged from now on."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)


@requirement("R22.1", "R22.2", "R22.5")
async def test_log_lines_say_whose_request_and_which_run(
    start_server: Callable[..., LiveServer], log: io.StringIO
) -> None:
    server = start_server()
    configure_logging(server.container.settings, stream=log)
    async with server.http(headers={"X-Request-Id": "logged-1"}) as http:
        message = '!tool read_file {"file_path": "/../../etc/passwd"}\n!tool fetch_url {"url": "x"}'
        answer = (await http.post("/api/v1/chat", json={"message": message})).json()
    await server.until(lambda: '"logged-1"' in log.getvalue() and "/api/v1/chat" in log.getvalue())
    lines: list[dict[str, Any]] = [json.loads(line) for line in log.getvalue().splitlines()]
    access = next(line for line in lines if line["message"] == "POST /api/v1/chat")
    assert (access["user_id"], access["request_id"], access["status"]) == ("alice", "logged-1", 200)
    inside = [line for line in lines if line["run_id"] == answer["run_id"]]
    assert inside, lines
    assert {(line["user_id"], line["request_id"]) for line in inside} == {("alice", "logged-1")}


@pytest.mark.parametrize("kind", [StorageUnavailable, QueryTimedOut, QuotaExceeded])
def test_a_refusal_is_one_line_without_a_traceback(
    kind: type[Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        error_response(kind("Not now."))
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert record.exc_info is None
    assert "Not now." in record.getMessage()
