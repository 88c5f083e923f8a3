"""Which table of the catalogue, or which CTE, a name in a query means.

Engines differ on who wins when a CTE has the name of a table, so this is decided here, strictly,
and `resolve_ctes` renames what two engines could read in two ways: after it, a name that stands for
a table can stand for nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from dataagent_core.data.dialects import Dialect, dialect_of
from dataagent_core.data.types import Catalogue, Table

if TYPE_CHECKING:
    from sqlglot import exp

    from dataagent_core.data.sql import edits
else:  # names of tables are looked up without a query, too
    from dataagent_core.config.lazy_modules import LazyModule

    exp = LazyModule("sqlglot.expressions")
    edits = LazyModule("dataagent_core.data.sql.edits")


def written_names(table: Table, dialect: Dialect) -> tuple[str, ...]:
    """How a rule or a query may write the table's name."""
    if table.schema or dialect.default_schema is None:
        return (table.key,)
    return (table.name, f"{dialect.default_schema}.{table.name}")


class TableIndex:
    """The tables of a catalogue by name."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._exact: dict[str, Table] = {}
        self._folded: dict[str, list[Table]] = defaultdict(list)
        dialect = dialect_of(catalogue.dialect)
        for table in catalogue.tables:
            for name in written_names(table, dialect):
                self._exact[name] = table
                self._folded[name.casefold()].append(table)

    def tables(self, name: str) -> list[Table]:
        """The table of exactly this name, or else those whose names differ in case only."""
        exact = self._exact.get(name)
        return [exact] if exact else self._folded.get(name.casefold(), [])

    def table(self, node: exp.Table, dialect: Dialect) -> Table | None:
        """The one table a reference means, if there is one."""
        if node.args.get("catalog"):
            return None
        parts = [_identifier(part, dialect) for part in (node.args.get("db"), node.this) if part]
        name = ".".join(parts)
        if dialect.is_case_sensitive:
            return self._exact.get(name)
        found = self.tables(name)
        return found[0] if len(found) == 1 else None


def resolve_ctes(nodes: list[exp.Expr], dialect: Dialect) -> list[exp.Table]:
    """Of a query's nodes, those that name tables. Functions that stand like tables are none.

    A CTE whose name also stands for a table, or for another CTE, gets a name of its own.
    A CTE is meant by a bare name inside the query it belongs to, and by the CTEs after it; by
    itself only in the recursive arm of a UNION under RECURSIVE. Everything else is a table.
    """
    to_tables: list[exp.Table] = []
    uses: dict[int, list[exp.Table]] = defaultdict(list)
    meanings: dict[str, set[int]] = defaultdict(set)  # 0: a table
    for node in nodes:
        if not isinstance(node, exp.Table) or isinstance(node.this, exp.Func):
            continue
        cte = _cte_meant(node, dialect)
        if cte is None:
            to_tables.append(node)
        else:
            uses[id(cte)].append(node)
        meanings[node.name.casefold()].add(id(cte) if cte else 0)
    ctes = [node for node in nodes if isinstance(node, exp.CTE)]
    taken = {*meanings, *(cte.alias.casefold() for cte in ctes)}
    for cte in ctes:
        if meanings[cte.alias.casefold()] - {id(cte)}:
            _rename(cte, uses[id(cte)], _free_name(cte.alias, taken))
    return to_tables


def _cte_meant(node: exp.Table, dialect: Dialect) -> exp.CTE | None:
    if node.args.get("db") or node.args.get("catalog"):
        return None
    name = _identifier(node.this, dialect)
    below: exp.Expr = node
    inside: exp.CTE | None = None
    while isinstance(above := below.parent, exp.Expr):
        with_ = above.args.get("with_")
        if isinstance(with_, exp.With):
            found = _find(with_, name, node, inside if below is with_ else None, dialect)
            if found is not None:
                return found
        if isinstance(above, exp.CTE):
            inside = above
        below = above
    return None


def _find(
    with_: exp.With, name: str, node: exp.Table, inside: exp.CTE | None, dialect: Dialect
) -> exp.CTE | None:
    found: exp.CTE | None = None
    for cte in with_.expressions:
        is_inside = cte is inside
        if _is_named(cte, name, dialect) and (
            not is_inside or (with_.recursive and _is_in_recursive_arm(cte, node, dialect))
        ):
            found = cte
        if is_inside:
            break
    return found


def _is_named(cte: exp.CTE, name: str, dialect: Dialect) -> bool:
    alias = cte.args["alias"].this
    own = _identifier(alias, dialect)
    return own == name or (not dialect.is_case_sensitive and own.casefold() == name.casefold())


def _is_in_recursive_arm(cte: exp.CTE, node: exp.Table, dialect: Dialect) -> bool:
    """Only the last arm of a UNION recurs; in some dialects every arm but the first."""
    body = cte.this
    while isinstance(body, exp.Union):
        if _is_within(node, body.expression):
            return True
        if not dialect.recurses_in_every_arm:
            return False
        body = body.this
    return False


def _is_within(node: exp.Expr, root: exp.Expr) -> bool:
    at: exp.Expr | None = node
    while at is not None and at is not root:
        at = at.parent
    return at is root


def _rename(cte: exp.CTE, nodes: list[exp.Table], name: str) -> None:
    for node in nodes:
        edits.rewrite(node, edits.place_of([node.this]))
        if not node.args.get("alias"):
            node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
        node.set("this", exp.to_identifier(name, quoted=True))
    alias = cte.args["alias"]
    alias.set("this", edits.renamed(alias.this, name))


def _free_name(name: str, taken: set[str]) -> str:
    number = 1
    while (free := f"{name}_cte{number}").casefold() in taken:
        number += 1
    taken.add(free.casefold())
    return free


def _identifier(node: object, dialect: Dialect) -> str:
    if not isinstance(node, exp.Identifier):
        return ""
    return dialect.stored_name(node)
