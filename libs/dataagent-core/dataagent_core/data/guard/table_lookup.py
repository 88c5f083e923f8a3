"""Finds the table of a catalogue that a query means, by how the query writes it.

Built once for each catalogue object. The cache is by identity: two readers' catalogues of one
source share a hash and differ in what they show.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.guard.names import caseless_key, single, unknown_name
from dataagent_core.data.types import Catalogue, Table


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
