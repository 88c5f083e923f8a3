"""(k) A call of an MCP tool through our hub, against the same call with the SDK alone, in turns.

The hub looks up the tool, checks that the caller may use it, validates the arguments, makes the
call with a deadline, checks the answer and writes a row; the SDK makes the call. Both have one
connection of their own to the same small server, which is on the other core.
"""

from __future__ import annotations

from statistics import median

from bench.processes import MEASURED, OTHERS, Worker
from bench.report import Report, Row, at_least, below, say

_TRANSPORTS = {"stdio": "stdio", "http": "streamable HTTP"}
_ALLOWED_MS = 0.5
_ALLOWED_RATIO = 1.3
_LEAST_RATE = 0.9


def run(report: Report) -> None:
    """Measure both transports."""
    for transport, name in _TRANSPORTS.items():
        with Worker("bench.k_mcp_side", transport, str(OTHERS), core=MEASURED) as side:
            say(f"(k) {name}")
            side.ask(do="start")
            _compare_latency(report, side, transport)
            _compare_rate(report, side, transport)


def _compare_latency(report: Report, side: Worker, transport: str) -> None:
    times = 300 if report.options.is_quick else 1000
    rounds = [side.ask(do="latency", times=times) for _ in range(report.options.rounds)]
    for number, found in enumerate(rounds):
        report.keep("k", f"{transport} latency", round=number, **found)
    raw = median(found["raw_ms"] for found in rounds)
    more = median(found["hub_ms"] - found["raw_ms"] for found in rounds)
    ratio = median(found["hub_ms"] / found["raw_ms"] for found in rounds)
    # half a millisecond, or 1.3 times as long, whichever is more
    target = below(max(_ALLOWED_RATIO, 1 + _ALLOWED_MS / raw))
    name = f"{_TRANSPORTS[transport]}: a call through the hub, p50, times the SDK's"
    report.add(Row("k", name, ratio, target=target, note=f"{more:+.2f} ms on {raw:.2f}"))


def _compare_rate(report: Report, side: Worker, transport: str) -> None:
    times = 250 if report.options.is_quick else 1000
    rounds = [side.ask(do="crowd", times=times) for _ in range(report.options.rounds)]
    for number, found in enumerate(rounds):
        report.keep("k", f"{transport} crowd", round=number, **found)
    ratio = median(found["rate"] for found in rounds)
    cpu = median(found["cpu"] for found in rounds)
    ours = median(found["hub_per_second"] for found in rounds)
    name = f"{_TRANSPORTS[transport]}: 50 calls at once, calls a second, times the SDK's"
    note, target = f"{ours:.0f} calls a second", at_least(_LEAST_RATE)
    report.add(Row("k", name, ratio, cpu, target=target, note=note))
