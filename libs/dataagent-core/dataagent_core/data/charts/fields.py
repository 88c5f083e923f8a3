"""The fields a chart may use: columns of the result, and what its transforms compute from them.

`refuse` is the one way a chart is refused; it names the place in the specification.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from dataagent_core.data.types import ResultColumn
from dataagent_core.errors import BadChart

Spec = dict[str, Any]  # Any: JSON as the model wrote it, checked key by key
FieldKind = Literal["number", "temporal", "text", "boolean", "other"]

_NUMBERS = ("int", "uint", "float", "double", "halffloat", "decimal")
_TEXTS = ("string", "large_string", "utf8", "large_utf8", "string_view", "dictionary")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NEAREST = 5
_LONGEST = 200  # characters of a name that are compared: comparing takes their square


def words(line: str) -> frozenset[str]:
    """The words of a line, as a set: how the long allow-lists are written."""
    return frozenset(line.split())


def kind_of(arrow_type: str) -> FieldKind:
    """What can be drawn from a column of this Arrow type."""
    if arrow_type.startswith(("date", "timestamp")):
        return "temporal"
    if arrow_type.startswith("bool"):
        return "boolean"
    if arrow_type.startswith(_TEXTS):
        return "text"
    return "number" if arrow_type.startswith(_NUMBERS) else "other"


def refuse(
    message: str, *, path: str, reason: str, nearest: Sequence[str] | None = None
) -> NoReturn:
    """Say no, with the place in the specification and a code a program can test for."""
    details: dict[str, object] = {"path": path, "reason": reason}
    if nearest is not None:
        details["nearest"] = list(nearest)
    raise BadChart(message, details=details)


@dataclass(frozen=True, slots=True)
class FieldScope:
    """The fields in reach at one place of a specification: their names and kinds."""

    kinds: Mapping[str, FieldKind]
    columns: frozenset[str] = field(default_factory=frozenset[str])  # of the result itself

    @staticmethod
    def of(columns: Sequence[ResultColumn]) -> FieldScope:
        """All columns of a result."""
        kinds: dict[str, FieldKind] = {column.name: kind_of(column.type) for column in columns}
        return FieldScope(kinds, frozenset(kinds))

    def find(self, name: object, path: str) -> str:
        """The exact name of a field, also when Vega-Lite's escapes are written out."""
        if not isinstance(name, str):
            refuse(f"{path} must be the name of a column.", path=path, reason="bad_field")
        if name in self.kinds:
            return name
        plain = _ESCAPED.sub(r"\1", name)
        if plain in self.kinds:
            return plain
        near = self.nearest(plain)
        hint = f" Did you mean: {', '.join(near)}?" if near else ""
        known = ", ".join(list(self.kinds)[:20]) or "none"
        refuse(
            f"The result has no column '{plain[:100]}'.{hint} It has: {known}.",
            path=path,
            reason="unknown_field",
            nearest=near,
        )

    def nearest(self, name: str) -> list[str]:
        """Fields that look like this name: other case first, then close spelling or part of it."""
        folded = name[:_LONGEST].casefold()
        by_fold = {known.casefold(): known for known in self.kinds}
        close = difflib.get_close_matches(folded, by_fold, n=_NEAREST, cutoff=0.5)
        parts = [known for known in by_fold if folded and (folded in known or known in folded)]
        exact = [known for known in by_fold if known == folded]
        ordered = dict.fromkeys([*exact, *close, *parts])
        return [by_fold[known] for known in ordered][:_NEAREST]

    def with_fields(self, made: Mapping[str, FieldKind]) -> FieldScope:
        """The scope and the fields a transform adds."""
        return FieldScope({**self.kinds, **made}, self.columns)

    def only(self, names: Iterable[str], made: Mapping[str, FieldKind]) -> FieldScope:
        """What an aggregate leaves: the fields it groups by and those it makes."""
        return FieldScope({**{name: self.kinds[name] for name in names}, **made}, self.columns)
