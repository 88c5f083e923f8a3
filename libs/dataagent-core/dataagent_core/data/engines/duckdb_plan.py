"""DuckDB's plan in lines: each step below the one it feeds. Pure.

Steps that only pass columns on are left out, and the table's name stands alone. Above: `duckdb.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_PASSING_ON = "PROJECTION"
_ROWS = "Estimated Cardinality"
_Step = dict[str, Any]  # Any: JSON


def plan_lines(plan: str) -> list[str]:
    """The lines of what `EXPLAIN (FORMAT JSON)` gives."""
    return [line for step in json.loads(plan) for line in _lines(step, 0)]


def _lines(step: _Step, depth: int) -> Iterator[str]:
    is_shown = step["name"] != _PASSING_ON
    if is_shown:
        yield f"{'  ' * depth}{step['name']}{_details(step.get('extra_info') or {})}"
    for child in step.get("children") or ():
        yield from _lines(child, depth + is_shown)


def _details(extra: _Step) -> str:
    parts: list[str] = []
    for name, value in extra.items():
        if name == "Table":
            parts.insert(0, str(value).rpartition(".")[2])
        elif name not in ("Type", _ROWS):
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] JSON
            parts.append(f"{name.lower()} {' '.join(text.split())}")
    if _ROWS in extra:
        parts.append(f"~{extra[_ROWS]} rows")
    return f"  {'; '.join(parts)}" if parts else ""
