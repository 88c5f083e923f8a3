"""Times, costs and sizes as people read them."""

from __future__ import annotations

from typing import Any

_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "CNY": "¥", "JPY": "¥"}


def seconds(value: float | None) -> str:
    """A time: `12 ms`, `1.25 s`, `3 min 20 s`."""
    if value is None:
        return "–"
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 120:
        return f"{value:.2f} s"
    return f"{int(value // 60)} min {value % 60:.0f} s"


def money(cost: dict[str, Any]) -> str:
    """A cost: `$0.0123`; a currency without a sign is named."""
    sign, amount = _SIGNS.get(cost["currency"]), f"{cost['total']:.4f}"
    return f"{amount} {cost['currency']}" if sign is None else f"{sign}{amount}"


def megabytes(value: float | None) -> str:
    """A size: `312 MB`."""
    return "–" if value is None else f"{value / 1e6:,.0f} MB"


def rate(value: float) -> str:
    """A number of something a second: `12`, `3.4`."""
    return f"{value:,.1f}".removesuffix(".0")
