"""`/metrics`: who may read it, and that it counts what happens under names that stay few."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from conftest import LiveServer

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]
ELSEWHERE = {"X-Forwarded-For": "203.0.113.9"}


async def counted(server: LiveServer) -> Samples:
    async with server.http(None) as http:
        answer = await http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def total(samples: Samples, name: str, **labels: str) -> float:
    return sum(
        value
        for (found, pairs), value in samples.items()
        if found == name and labels.items() <= dict(pairs).items()
    )


async def test_it_is_open_to_this_machine_and_to_administrators(live: LiveServer) -> None:
    expected = {None: 401, "alice": 403, "root": 200}
    for user, status in expected.items():
        async with live.http(user, headers=ELSEWHERE) as http:
            assert (await http.get("/metrics")).status_code == status, user
    async with live.http(None, headers={"X-Real-IP": "203.0.113.9"}) as http:
        assert (await http.get("/metrics")).status_code == 401
    async with live.http(None) as http:
        assert (await http.get("/metrics")).status_code == 200


async def test_it_can_be_opened_to_everyone(start_server: Callable[..., LiveServer]) -> None:
    server = start_server(metrics_public=True)
    async with server.http(None, headers=ELSEWHERE) as http:
        assert (await http.get("/metrics")).status_code == 200


async def test_runs_tools_statements_and_logins_are_counted(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server()
    async with server.http("alice") as http:
        for message in ("!slow 5 1", '!tool think_tool {"reflection": "x"}', "!fail", "!echo x"):
            await http.post("/api/v1/chat", json={"message": message})
        query = {"sql": "SELECT COUNT(*) FROM Artist"}
        await http.post("/api/v1/data-sources/chinook/query", json=query)
        login = {"username": "admin", "password": "wrong"}
        await http.post("/api/auth/login", json=login)
    samples = await counted(server)
    assert total(samples, "dataagent_runs_total", status="done") == 3
    assert total(samples, "dataagent_runs_total", status="failed") == 1
    assert total(samples, "dataagent_run_seconds_count") == 4
    assert total(samples, "dataagent_first_text_seconds_count") >= 3
    assert total(samples, "dataagent_events_total") >= 8
    assert total(samples, "dataagent_tool_calls_total", tool="think_tool", status="success") == 1
    assert total(samples, "dataagent_sql_seconds_count", outcome="success") == 1
    assert total(samples, "dataagent_login_failures_total") == 1
    assert total(samples, "dataagent_db_commit_seconds_count") > 0
    assert total(samples, "dataagent_active_runs") == 0
    assert total(samples, "dataagent_queue_depth") == 0
    assert total(samples, "process_resident_memory_bytes") > 0
    assert total(samples, "process_open_fds") > 0


async def test_what_goes_on_is_shown_while_it_goes_on(live: LiveServer) -> None:
    async with live.socket() as socket:
        await socket.chat("!slow 9999 20")
        samples = await counted(live)
        assert total(samples, "dataagent_active_runs") == 1
        assert total(samples, "dataagent_connections") == 1
        await socket.say("cancel")
        await socket.until("done")
    await live.until(lambda: live.container.capacity.used == 0)
    samples = await counted(live)
    assert total(samples, "dataagent_active_runs") == 0
    assert total(samples, "dataagent_connections") == 0
    assert total(samples, "dataagent_runs_total", status="cancelled") >= 1


async def test_requests_are_counted_by_template_and_never_by_address(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server()
    async with server.http("alice") as http:
        for number in range(20):
            await http.get(f"/api/v1/runs/no-such-run-{number}")
            await http.get(f"/nowhere/{number}")
            await http.request("PROPFIND", "/api/v1/sessions")
        await http.get("/api/v1/sessions")
        await http.get("/api/conversations")
    async with server.socket() as socket:
        await socket.say("ping")
        await socket.next("pong")
    await server.until(lambda: server.container.capacity.used == 0)
    async with asyncio.timeout(WAIT_SECONDS):
        while not total(
            samples := await counted(server), "dataagent_http_requests_total", method="WEBSOCKET"
        ):
            await asyncio.sleep(0.01)
    runs = "/api/v1/runs/{run_id}"
    name = "dataagent_http_requests_total"
    assert total(samples, name, route=runs, status="404", method="GET") == 20
    assert total(samples, name, route="/api/v1/sessions", status="200", method="GET") == 1
    assert total(samples, name, route="/api/conversations") == 1
    assert total(samples, name, route="(none)", status="404", method="GET") == 20
    assert total(samples, name, method="other") == 20
    assert total(samples, name, method="WEBSOCKET", status="101") == 1
    assert total(samples, "dataagent_http_request_seconds_count", route=runs) == 20
    assert not any("no-such-run" in str(key) or "PROPFIND" in str(key) for key in samples)
    assert len([key for key in samples if key[0] == name]) < 15
