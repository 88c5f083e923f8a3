"""How names are compared: by each engine's rule first, then by the only match whatever its case.

An engine's own rule decides wherever it gives an answer, so a query means here what it means there.
Only where the engine would find nothing is a unique match of other case taken, since a name that
differs in case alone was meant. Below the scopes; it knows no tree but identifiers.
"""

from __future__ import annotations

import difflib
import string
from collections.abc import Iterable
from typing import Literal, TypeVar

from sqlglot import exp

from dataagent_core.data.guard.edits import renamed
from dataagent_core.errors import UnknownName

Kind = Literal["table", "column"]
T = TypeVar("T")

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_DEFAULT_SCHEMA = {"sqlite": "main", "duckdb": "main", "postgres": "public"}
_CASE_MATTERS = {"postgres", "redshift", "materialize", "risingwave"}


class Naming:
    """The rules of one dialect."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self._is_exact = dialect in _CASE_MATTERS

    def is_default(self, schema: str) -> bool:
        """Whether a schema that a query names is the one that needs no naming."""
        return caseless(schema) == _DEFAULT_SCHEMA.get(self.dialect)

    def stored(self, identifier: exp.Expr) -> str:
        """The name as the engine keeps it: PostgreSQL lowers what is not quoted."""
        name = identifier.name
        return (
            name if identifier.args.get("quoted") or not self._is_exact else name.translate(_LOWER)
        )

    def column_key(self, name: str) -> str:
        """Equal for two stored names of columns exactly if the engine takes them for one."""
        if self._is_exact:
            return name
        return name.lower() if self.dialect == "mysql" else name.translate(_LOWER)

    def spell_column(self, written: exp.Expr, name: str) -> exp.Expr:
        """The identifier as written if the engine takes it for this stored name, or else that."""
        is_same = self.column_key(self.stored(written)) == self.column_key(name)
        return written if is_same else renamed(written, name)

    def spell_table(self, written: exp.Expr, name: str) -> exp.Expr:
        """As `spell_column`, for tables, WITH queries and aliases."""
        is_same = self.table_key(self.stored(written)) == self.table_key(name)
        return written if is_same else renamed(written, name)

    def table_key(self, name: str) -> str:
        """Equal for two stored names of tables or aliases if the engine takes them for one."""
        if self._is_exact or self.dialect == "mysql":
            return name
        return name.translate(_LOWER)


def caseless(name: str) -> str:
    """The key of the second try."""
    return name.casefold()


def only(found: Iterable[T]) -> T | None:
    """The one element there is, or None."""
    listed = list(found)
    return listed[0] if len(listed) == 1 else None


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.5) -> list[str]:
    """Up to three known names that are spelled most like it."""
    spelled = {one.casefold(): one for one in reversed(list(known))}
    near = difflib.get_close_matches(name.casefold()[:200], list(spelled), n=3, cutoff=cutoff)
    return [spelled[one] for one in near]


def unknown(
    kind: Kind, name: str, known: Iterable[str], *, where: str, hint: str = ""
) -> Exception:
    """The error for a name that is not there, with the names that are near."""
    near = nearest(name, known)
    told = f" Nearest: {', '.join(near)}." if near else ""
    return UnknownName(
        f"There is no {kind} '{name[:100]}' {where}.{told}{hint}",
        details={"kind": kind, "name": name, "nearest": near},
    )


def ambiguous(name: str, tables: Iterable[str]) -> Exception:
    """The error for a column that more than one table has."""
    choices = [f"{table}.{name}" for table in tables]
    return UnknownName(
        f"The column '{name[:100]}' is ambiguous. Write one of: {', '.join(choices[:10])}.",
        details={"kind": "column", "name": name, "nearest": choices[:10], "is_ambiguous": True},
    )


def twice(name: str) -> Exception:
    """The error for two items of FROM with one name."""
    return UnknownName(
        f"Two items of FROM are called '{name[:100]}'. Give each an alias of its own.",
        details={"kind": "table", "name": name, "nearest": [], "is_ambiguous": True},
    )
