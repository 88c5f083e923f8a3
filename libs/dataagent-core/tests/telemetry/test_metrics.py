"""Counts come out as Prometheus reads them, and names that others choose stay few."""

from __future__ import annotations

import socket
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from dataagent_core.telemetry import Metrics
from tests.waiting import WAIT_SECONDS


def labels_of(metrics: Metrics, family: str) -> list[dict[str, str]]:
    return [
        sample.labels
        for found in text_string_to_metric_families(metrics.text().decode())
        if found.name == family
        for sample in found.samples
        if sample.name.endswith("_total")
    ]


def test_two_processes_worth_of_counts_do_not_mix() -> None:
    first, second = Metrics(), Metrics()
    first.login_failed()
    assert "dataagent_login_failures_total 1.0" in first.text().decode()
    assert "dataagent_login_failures_total 0.0" in second.text().decode()


def test_tool_names_are_counted_up_to_a_bound_then_together() -> None:
    metrics = Metrics()
    for number in range(1_000):
        metrics.tool_called(f"tool_{number}", "success")
    metrics.tool_called("tool_3", "error")
    names = {labels["tool"] for labels in labels_of(metrics, "dataagent_tool_calls")}
    assert len(names) == 201
    assert "other" in names
    assert {"tool": "tool_3", "status": "error"} in labels_of(metrics, "dataagent_tool_calls")


def test_made_up_methods_are_one() -> None:
    metrics = Metrics()
    for number in range(50):
        metrics.request_ended(f"M{number}", "/x", 405, seconds_to_answer=0.1)
    assert labels_of(metrics, "dataagent_http_requests") == [
        {"method": "other", "route": "/x", "status": "405"}
    ]
    assert metrics._children == {}


def test_a_gauge_is_read_when_somebody_asks() -> None:
    metrics = Metrics()
    values = iter([1.0, 2.0])
    metrics.watch("active_runs", "Runs.", lambda: next(values))
    assert "dataagent_active_runs 1.0" in metrics.text().decode()
    assert "dataagent_active_runs 2.0" in metrics.text().decode()


def test_a_run_without_text_has_no_time_to_its_first() -> None:
    metrics = Metrics()
    metrics.run_ended("done", 2.0, first_text_seconds=None, events=1)
    metrics.run_ended("done", 2.0, first_text_seconds=0.2, events=4)
    text = metrics.text().decode()
    assert 'dataagent_runs_total{status="done"} 2.0' in text
    assert "dataagent_first_text_seconds_count 1.0" in text
    assert "dataagent_events_total 5.0" in text


def read(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=WAIT_SECONDS) as answer:
        return answer.read().decode()


def test_processes_without_a_door_offer_their_counts_on_ports_side_by_side() -> None:
    first, second = Metrics(), Metrics()
    first.login_failed()
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    stop_first = first.serve("127.0.0.1", port)
    stop_second = second.serve("127.0.0.1", port)
    try:
        assert "dataagent_login_failures_total 1.0" in read(port)
        texts = [read(other) for other in range(port + 1, port + 3) if _listens(other)]
        assert any("dataagent_login_failures_total 0.0" in text for text in texts)
    finally:
        stop_first()
        stop_second()
    assert not _listens(port)


def _listens(port: int) -> bool:
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) == 0
