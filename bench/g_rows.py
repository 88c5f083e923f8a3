"""(g) A million rows through the data service, cancelling, and the cost of checking one statement.

Each engine is read by its plain driver and by us, in turns, in a process of its own; ours also
writes the Parquet artefact with its statistics. Exports are compared with DuckDB's COPY. A
statement that would take days is cancelled a few times: the product promises that the engine has
ended it within a second.
"""

from __future__ import annotations

from contextlib import ExitStack
from statistics import median

from bench.processes import MEASURED, Worker
from bench.report import Report, Row, at_least, below, say

_ENGINES = ("sqlite", "duckdb", "postgres", "mysql")


def run(report: Report) -> None:
    """Measure every engine, the export and the guard."""
    rows = 200_000 if report.options.is_quick else 1_000_000
    for engine in _ENGINES:
        with ExitStack() as stack:
            side = stack.enter_context(
                Worker("bench.g_rows_side", engine, str(rows), core=MEASURED)
            )
            _compare(report, side, engine, rows)
            _cancel(report, side, engine)
    with ExitStack() as stack:
        side = stack.enter_context(Worker("bench.g_rows_side", "sqlite", "1000", core=MEASURED))
        found = side.ask(do="guard")
        report.keep("g", "guard", **found)
        report.add(
            Row(
                "g",
                "guard and policy, one statement",
                found["median_ms"],
                unit="ms",
                target=below(10),
            )
        )


def _compare(report: Report, side: Worker, engine: str, rows: int) -> None:
    say(f"(g) {engine}: {rows:,} rows")
    ratios: list[float] = []
    growth = 0.0
    for number in range(report.options.rounds):
        raw = side.ask(do="raw")
        ours = side.ask(do="query")
        report.keep("g", engine, round=number, raw=raw, ours=ours)
        ratios.append(raw["seconds"] / ours["seconds"])
        growth = max(growth, ours["growth_kb"])
        if ours["row_count"] != rows or ours["message_bytes"] >= 4000:
            raise RuntimeError(f"{engine}: {rows:,} rows became {ours}")
    report.add(Row("g", f"{engine}: query to artefact / plain driver loop", median(ratios)))
    report.add(
        Row("g", f"{engine}: memory while reading", growth, unit="KB", target=below(150 * 1024))
    )
    exported = side.ask(do="export")
    report.keep("g", f"{engine} export", **exported)
    report.add(
        Row(
            "g",
            f"{engine}: CSV export / DuckDB COPY",
            exported["copy_seconds"] / exported["seconds"],
            target=at_least(0.5),
            note=f"{exported['rows'] / exported['seconds']:,.0f} rows/s here",
        )
    )


def _cancel(report: Report, side: Worker, engine: str) -> None:
    times = 5 if report.options.is_quick else 20
    found = [side.ask(do="cancel") for _ in range(times)]
    report.keep("g", f"{engine} cancel", found=found)
    slowest = max(each["milliseconds"] for each in found)
    name = f"{engine}: cancel to gone from the engine, slowest of {times}"
    report.add(Row("g", name, slowest, unit="ms", target=below(1000)))
