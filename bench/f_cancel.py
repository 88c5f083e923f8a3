"""(f) From the command to `done(cancelled)`, while text streams or a tool runs.

The one part whose target is a time: the product promises 300 ms for 95 of 100 cancels on this kind
of machine. Eight sessions run all the while, each is stopped at random moments and begins again.
It is reported as a ratio to the server's round trip for a `ping` as well, which shows the share of
the machine; and for sessions that do nothing but start and stop: the server then has no processor
time left, so that is a matter of throughput and has no target.
"""

from __future__ import annotations

from contextlib import ExitStack

from bench.processes import OTHERS, Worker, dataagent_server
from bench.report import Report, Row, below, say

_TEXT = "!slow 500 20"
_TOOL = '!tool shell {"command": "sleep 60"}'
_WITHIN_SECONDS = 1.0
_SETTINGS = {"DATAAGENT_ENABLE_SHELL": "true", "DATAAGENT_AUTO_APPROVE": "true"}


def run(report: Report) -> None:
    """Cancel over both transports, in mid-text and in mid-tool, a few sessions at a time."""
    count = 40 if report.options.is_quick else 200
    with ExitStack() as stack:
        load = stack.enter_context(Worker("bench.load", core=OTHERS))
        server = stack.enter_context(dataagent_server(**_SETTINGS))
        for what, message in (("text", _TEXT), ("tool", _TOOL)):
            for transport in ("ws", "rest"):
                name = f"cancel of a running {what} over {transport}"
                say(f"(f) {name}, {count} times")
                cancels = {
                    "do": "cancels",
                    "url": server.url,
                    "transport": transport,
                    "message": message,
                }
                found = load.ask(**cancels, count=count, within=_WITHIN_SECONDS)
                report.add(Row("f", f"{name}, p95", found["p95"], unit="ms", target=below(300)))
                report.add(Row("f", f"{name} / ping", found["p95"] / found["ping"]))
                report.keep("f", name, **found)
                crowded = load.ask(**cancels, count=count, within=0.0)
                report.add(Row("f", f"{name}, p95, saturated", crowded["p95"], unit="ms"))
                report.keep("f", f"{name}, saturated", **crowded)
