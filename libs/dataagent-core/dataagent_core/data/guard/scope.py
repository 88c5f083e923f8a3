"""What names mean at one place of a query: the sources of its FROM, and of the queries around it.

Plain data with look-ups; `resolve.py` fills it while it walks. Nothing here changes a tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from sqlglot import exp

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.guard.names import caseless_key
from dataagent_core.data.types import Table

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
    """The nodes under a name; none if there are none."""
    return cast(
        "list[exp.Expr]", node.args.get(name) or []
    )  # the parser types its parts as Any; these names hold lists of nodes
