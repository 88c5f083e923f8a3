"""Settings of a chart: numbers, short texts, dates and lists, as Vega-Lite's own schema has them.

`vega_lite.json` is the part of the official schema that describes plain settings; what computes,
loads or links is not in it (`scripts/chart_schema.py` writes it). `part` checks a setting against
it, and against what a schema cannot say: how large a picture may be, and that no text breaks out of
the expressions Vega builds from titles and formats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from dataagent_core.data.charts.fields import Spec, refuse, words

if TYPE_CHECKING:
    import jsonschema_rs

_SCHEMA = Path(__file__).with_name("vega_lite.json")

MAX_TEXT = 500
MAX_LIST = 200
MAX_PIXELS = 4_000
MAX_COUNT = 200

_PIXELS = frozenset({"width", "height", "step", "size", "innerRadius", "outerRadius", "radius"})
_COUNTS = frozenset({"tickCount", "maxbins", "columns", "columnPadding", "rowPadding"})
_FORMAT = re.compile(r"[\w%.,:+\-~$¥€£ ()/#*^<=>&|·]*")
_DATE_PARTS = words("year quarter month week date day hours minutes seconds milliseconds utc")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]+")
_EXPRESSIONS = frozenset({"expr", "signal", "test", "update", "labelExpr", "init"})


def text(value: object, path: str) -> str | list[str] | None:
    """A title: one line or several, without what would end a string in Vega's expressions."""
    if value is None:
        return None
    lines = cast("list[object]", value) if isinstance(value, list) else [value]
    if len(lines) > 5 or not all(isinstance(line, str | int | float) for line in lines):
        refuse(f"{path} must be a text.", path=path, reason="bad_value")
    cleaned = [clean(str(line)) for line in lines]
    if any(len(line) > MAX_TEXT for line in cleaned):
        refuse(f"{path} is longer than {MAX_TEXT} characters.", path=path, reason="too_large")
    return cleaned if isinstance(value, list) else cleaned[0]


def clean(line: str) -> str:
    """A text that is safe inside a quoted string of a Vega expression."""
    return _CONTROL.sub(" ", line).replace("\\", "＼").strip()


def value(given: Any, path: str, *, key: str = "") -> Any:  # Any: JSON
    """A number, text, boolean, null, date or list of them; anything else is refused."""
    if isinstance(given, list):
        items = _short_list(given, path)
        return [value(item, f"{path}[{at}]", key=key) for at, item in enumerate(items)]
    if isinstance(given, dict):
        return _date(cast("Spec", given), path)
    if isinstance(given, str):
        return _short(given, path, key)
    if isinstance(given, int | float) and not isinstance(given, bool):
        _within(given, path, key)
    return given


def _short_list(given: Any, path: str) -> list[Any]:  # Any: JSON
    items = cast("list[Any]", given)
    if len(items) > MAX_LIST:
        refuse(f"{path} has more than {MAX_LIST} items.", path=path, reason="too_large")
    return items


def _date(given: Spec, path: str) -> Spec:
    found = sorted(_EXPRESSIONS & given.keys())
    if found:
        refuse(
            f"{path}.{found[0]}: expressions are not allowed in a chart. "
            "Compute the value in the query and name its column.",
            path=f"{path}.{found[0]}",
            reason="expression",
        )
    if not given.keys() - {"utc"} or not given.keys() <= _DATE_PARTS:
        refuse(f"{path} must be a plain value, not an object.", path=path, reason="bad_value")
    parts = {name: value(part, f"{path}.{name}") for name, part in given.items()}
    parts.pop("utc", None)  # the dates it is compared with are wall-clock time, without a zone
    return parts


def _short(given: str, path: str, key: str) -> str:
    if len(given) > MAX_TEXT:
        refuse(f"{path} is longer than {MAX_TEXT} characters.", path=path, reason="too_large")
    if key.lower().endswith("format") and not _FORMAT.fullmatch(given):
        refuse(f"{path}: '{given[:40]}' is not a format.", path=path, reason="bad_value")
    if "url(" in given.replace(" ", "").lower():
        refuse(f"{path}: a chart loads nothing from an address.", path=path, reason="url")
    return given


def _within(given: float, path: str, key: str) -> None:
    most = MAX_PIXELS if key in _PIXELS else MAX_COUNT if key in _COUNTS else 1e15
    if abs(given) > most:
        refuse(f"{path} is {given:g}; the most is {most:g}.", path=path, reason="too_large")


def part(name: str, given: Any, path: str) -> Any:  # Any: JSON
    """A setting that the schema defines under `name`: an axis, a mark, the configuration."""
    checked = _checked(given, path, name)
    check_schema(name, checked, path)
    return checked


def _checked(given: Any, path: str, key: str) -> Any:  # Any: JSON
    """The setting with clean texts, once its sizes are found reasonable."""
    if isinstance(given, list):
        items = _short_list(given, path)
        return [_checked(item, f"{path}[{at}]", key) for at, item in enumerate(items)]
    if not isinstance(given, dict) or (given and given.keys() <= _DATE_PARTS):
        return value(given, path, key=key)
    result: Spec = {}
    for inner, item in cast("Spec", given).items():
        here = f"{path}.{inner}"
        if inner in _WHY and inner != "values":
            refuse_key(here, inner, ())
        result[inner] = text(item, here) if inner == "title" else _checked(item, here, inner)
    return result


def check_schema(name: str, given: object, path: str) -> None:
    """Refuse a setting that the schema does not allow, with the place and the nearest reason."""
    faults = [
        (fault["instanceLocation"], fault["error"])
        for fault in _validator().evaluate({name: given}).errors()
    ]
    if not faults:
        return
    place, _ = max(faults, key=lambda fault: fault[0].count("/"))
    reasons = dict.fromkeys(error for where, error in faults if where == place)
    where = path + "".join(
        f"[{step}]" if step.isdigit() else f".{step}" for step in place.split("/")[2:]
    )
    unknown = any("Additional properties" in reason for reason in reasons)
    refuse(
        f"{where[:200]}: {'; or '.join(list(reasons)[:3])[:300]}.",
        path=where,
        reason="not_allowed" if unknown else "bad_value",
    )


@lru_cache(maxsize=1)
def _validator() -> jsonschema_rs.Validator:
    import jsonschema_rs  # loaded when a chart is made

    return jsonschema_rs.validator_for(json.loads(_SCHEMA.read_bytes()))


def check_keys(spec: Spec, allowed: Collection[str], path: str) -> None:
    """Refuse the first key that is not among the allowed ones."""
    for key in spec:
        if key not in allowed:
            refuse_key(f"{path}.{key}", key, allowed)


def refuse_key(path: str, key: str, allowed: Collection[str]) -> NoReturn:
    """Refuse a key that is not among the allowed ones, and say why where there is a reason."""
    why = _WHY.get(key)
    if why is not None:
        reason, sentence = why
        refuse(f"{path}: {sentence}", path=path, reason=reason)
    some = ", ".join(sorted(allowed)[:40])
    refuse(f"{path[:200]} is not allowed here. Use: {some}.", path=path, reason="not_allowed")


_NO_EXPRESSION = (
    "expression",
    "expressions are not allowed in a chart. Compute the value in the query.",
)
_NO_DATA = ("inline_data", "a chart draws its result; leave data out.")
_NO_URL = ("url", "a chart loads nothing from an address and links nowhere.")
_NO_PARAMS = ("signal", "parameters, selections and signals are not allowed in a chart.")
_WHY: dict[str, tuple[str, str]] = {
    "data": _NO_DATA,
    "datasets": _NO_DATA,
    "values": _NO_DATA,
    "url": _NO_URL,
    "href": _NO_URL,
    "loader": _NO_URL,
    "usermeta": ("not_allowed", "settings of the page that shows a chart are not part of it."),
    "params": _NO_PARAMS,
    "param": _NO_PARAMS,
    "selection": _NO_PARAMS,
    "signals": _NO_PARAMS,
    "signal": _NO_EXPRESSION,
    "expr": _NO_EXPRESSION,
    "labelExpr": _NO_EXPRESSION,
    "calculate": _NO_EXPRESSION,
}
