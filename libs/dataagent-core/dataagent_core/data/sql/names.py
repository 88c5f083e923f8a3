"""What names mean at one place of a query: the sources of its FROM, and of the queries around it.

Names are compared by the engine's own rule first, so a query means here what it means there. Only
where the engine would find nothing is a unique match of other case taken. Tables are looked up in
an index that is cached by a catalogue's identity: two readers' catalogues of one source share a
hash and differ in what they show. Whether a name is a real table or a WITH query goes by its place
alone, so it holds before and after names are resolved and policies compiled in.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeVar, cast

from sqlglot import exp

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.sql.edits import renamed
from dataagent_core.data.types import Catalogue, Table
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
    """The only element, or None."""
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


@dataclass(frozen=True, slots=True, eq=False)
class CatalogueKey:
    """A catalogue as a cache key: the same object, not an equal one."""

    catalogue: Catalogue

    def __hash__(self) -> int:
        return id(self.catalogue)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogueKey) and other.catalogue is self.catalogue


class TableLookup:
    """The tables of one catalogue by name."""

    def __init__(self, catalogue: Catalogue, dialect: Dialect) -> None:
        self._dialect = dialect
        self._keys = [table.key for table in catalogue.tables]
        self._exact: dict[tuple[str, str], Table] = {}
        self._loose: dict[tuple[str, str], list[Table]] = {}
        for table in catalogue.tables:
            schema = table.schema or ""
            self._exact[dialect.table_key(schema), dialect.table_key(table.name)] = table
            self._loose.setdefault((caseless_key(schema), caseless_key(table.name)), []).append(
                table
            )

    def find(self, node: exp.Table) -> Table:
        """The table a query means. Raises `UnknownName`."""
        name = self._dialect.stored_name(node.this)
        schema = self._dialect.stored_name(node.args["db"]) if node.args.get("db") else ""
        found = self._lookup(schema, name)
        if not found and caseless_key(schema) == self._dialect.default_schema:
            found = self._lookup("", name)
        if found:
            return found
        written = f"{schema}.{name}" if schema else name
        raise unknown_name("table", written, self._keys, where="in this data source")

    def _lookup(self, schema: str, name: str) -> Table | None:
        key = self._dialect.table_key
        exact = self._exact.get((key(schema), key(name)))
        return exact or single(self._loose.get((caseless_key(schema), caseless_key(name)), []))


@lru_cache(maxsize=256)
def lookup_of(key: CatalogueKey, dialect: Dialect) -> TableLookup:
    """The catalogue's tables by name."""
    return TableLookup(key.catalogue, dialect)


Ctes = Mapping[str, list[str]]  # the queries of WITH, and what they give


@dataclass(slots=True, eq=False)
class FromItem:
    """One item of FROM: a table, an inner query, a function. `columns` are in order."""

    name: str
    columns: list[str]
    node: exp.Expr
    table: Table | None = None  # None: not a table of the catalogue
    is_hidden: bool = False  # the right side of a SEMI or ANTI join: seen by its ON alone


@dataclass(frozen=True, slots=True)
class StarColumn:
    """One column that `*` gives; without a source it is merged by USING.

    The name `*` stands for all columns of a source that has two of one name.
    """

    name: str
    source: FromItem | None


def star_columns_of(source: FromItem) -> list[StarColumn]:
    """What `source.*` gives."""
    if not source.table and len(set(source.columns)) < len(source.columns):
        return [StarColumn("*", source)]
    return [StarColumn(name, source) for name in source.columns]


@dataclass(slots=True, eq=False)
class Scope:
    """One SELECT. `parent` is the query around it, where its names may be used."""

    dialect: Dialect
    ctes: Ctes
    parent: Scope | None = None
    sources: list[FromItem] = field(default_factory=list[FromItem])
    flow: list[StarColumn] = field(default_factory=list[StarColumn])
    segment: int = 0  # where in `flow` the present comma-separated item of FROM begins
    merged: set[str] = field(default_factory=set[str])  # keys of columns that USING merged
    aliases: dict[str, str] = field(default_factory=dict[str, str])  # of outputs, key to name
    plain: set[str] = field(default_factory=set[str])  # keys of outputs that are bare columns

    def around(self) -> Iterator[Scope]:
        """The scope itself and those around it, inside out."""
        scope: Scope | None = self
        while scope:
            yield scope
            scope = scope.parent

    def owners(self, name: str) -> tuple[Scope, str, list[FromItem]] | None:
        """Where a column without a table is: the scope, its name there, its sources."""
        dialect = self.dialect
        for key in (dialect.column_key, caseless_key):
            wanted = key(name)
            for scope in self.around():
                found = [
                    (source, column)
                    for source in scope.sources
                    for column in source.columns
                    if key(column) == wanted
                ]
                if found:
                    return scope, found[0][1], [source for source, _ in found]
        return None

    def source(self, name: str) -> FromItem | None:
        """The source of that name or alias, here or around."""
        for key in (self.dialect.table_key, caseless_key):
            wanted = key(name)
            for scope in self.around():
                for source in scope.sources:
                    if key(source.name) == wanted:
                        return source
        return None

    def has_table(self) -> bool:
        """Whether a table of the catalogue is among the sources, here or around."""
        return any(source.table for scope in self.around() for source in scope.sources)

    def alias(self, name: str) -> str | None:
        """The output of this query that is so called."""
        exact = self.aliases.get(self.dialect.column_key(name))
        return exact or self.aliases.get(caseless_key(name))

    def column_names(self) -> list[str]:
        """All columns that can be named here, for hints."""
        return [
            column
            for scope in self.around()
            for source in scope.sources
            for column in source.columns
        ]

    def column_of(self, source: FromItem, name: str) -> str | None:
        """The source's column of that name, as it is stored."""
        for key in (self.dialect.column_key, caseless_key):
            wanted = key(name)
            for column in source.columns:
                if key(column) == wanted:
                    return column
        return None


def parts(node: exp.Expr, name: str) -> list[exp.Expr]:
    """The nodes under a name; may be empty."""
    return cast(
        "list[exp.Expr]", node.args.get(name) or []
    )  # the parser types its parts as Any; these names hold lists of nodes


def tables_of(tree: exp.Expr) -> list[exp.Table]:
    """The table nodes that stand for tables of the source, in the order of the text."""
    return [table for table in tree.find_all(exp.Table, bfs=False) if is_real(table)]


def is_real(table: exp.Table) -> bool:
    """Whether a table node names a table, not a function or an inner query of a WITH."""
    if not isinstance(table.this, exp.Identifier):
        return False
    return bool(table.db) or with_query_of(table) is None


def with_query_of(table: exp.Table) -> exp.CTE | None:
    """The WITH query that the name means, if one is visible where it stands."""
    wanted = caseless_key(table.name)
    inside: exp.Expr = table
    while (parent := inside.parent) is not None:
        if isinstance(parent, exp.With):
            found = _earlier(parent, inside, wanted)
            if found:
                return found
            inside = parent.parent or parent  # its query is what the WITH belongs to
            continue
        found = _in_with(parent, wanted)
        if found:
            return found
        inside = parent
    return None


def _in_with(query: exp.Expr, wanted: str) -> exp.CTE | None:
    with_ = query.args.get("with_")
    ctes: list[exp.CTE] = with_.expressions if isinstance(with_, exp.With) else []
    return next((cte for cte in ctes if caseless_key(cte.alias) == wanted), None)


def _earlier(with_: exp.With, inside: exp.Expr, wanted: str) -> exp.CTE | None:
    for cte in with_.expressions:
        is_itself = cte is inside
        if caseless_key(cte.alias) == wanted and (not is_itself or with_.args.get("recursive")):
            return cte
        if is_itself:
            return None
    return None
