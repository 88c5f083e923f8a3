"""How names are compared: by each engine's rule first, then by the only match whatever its case.

An engine's own rule decides wherever it gives an answer, so a query means here what it means there.
Only where the engine would find nothing is a unique match of other case taken, since a name that
differs in case alone was meant. Below the scopes; it knows no tree but identifiers.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Literal, TypeVar

from sqlglot import exp

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.guard.edits import renamed
from dataagent_core.errors import UnknownName

NameKind = Literal["table", "column"]
T = TypeVar("T")


def spell_column(dialect: Dialect, written: exp.Expr, name: str) -> exp.Expr:
    """The identifier as written if the engine takes it for this stored name, or else that."""
    is_same = dialect.column_key(dialect.stored_name(written)) == dialect.column_key(name)
    return written if is_same else renamed(written, name)


def spell_table(dialect: Dialect, written: exp.Expr, name: str) -> exp.Expr:
    """As `spell_column`, for tables, WITH queries and aliases."""
    is_same = dialect.table_key(dialect.stored_name(written)) == dialect.table_key(name)
    return written if is_same else renamed(written, name)


def caseless_key(name: str) -> str:
    """The key of the second try."""
    return name.casefold()


def single(found: Iterable[T]) -> T | None:
    """The one element there is, or None."""
    listed = list(found)
    return listed[0] if len(listed) == 1 else None


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.5) -> list[str]:
    """Up to three known names that are spelled most like it."""
    spelled = {one.casefold(): one for one in reversed(list(known))}
    near = difflib.get_close_matches(name.casefold()[:200], list(spelled), n=3, cutoff=cutoff)
    return [spelled[one] for one in near]


def unknown_name(
    kind: NameKind, name: str, known: Iterable[str], *, where: str, hint: str = ""
) -> Exception:
    """The error for a name that is not there, with the names that are near."""
    near = nearest(name, known)
    suggestion = f" Nearest: {', '.join(near)}." if near else ""
    return UnknownName(
        f"There is no {kind} '{name[:100]}' {where}.{suggestion}{hint}",
        details={"kind": kind, "name": name, "nearest": near},
    )


def ambiguous_column(name: str, tables: Iterable[str]) -> Exception:
    """The error for a column that more than one table has."""
    choices = [f"{table}.{name}" for table in tables]
    return UnknownName(
        f"The column '{name[:100]}' is ambiguous. Write one of: {', '.join(choices[:10])}.",
        details={"kind": "column", "name": name, "nearest": choices[:10], "is_ambiguous": True},
    )


def duplicate_name(name: str) -> Exception:
    """The error for two items of FROM with one name."""
    return UnknownName(
        f"Two items of FROM are called '{name[:100]}'. Give each an alias of its own.",
        details={"kind": "table", "name": name, "nearest": [], "is_ambiguous": True},
    )
