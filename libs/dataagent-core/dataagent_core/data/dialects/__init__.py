"""The supported SQL dialects, one module each, and their registry."""

from functools import lru_cache

from dataagent_core.data.dialects.base import Dialect
from dataagent_core.data.dialects.duckdb import Duckdb
from dataagent_core.data.dialects.mysql import Mysql
from dataagent_core.data.dialects.postgres import Postgres
from dataagent_core.data.dialects.sqlite import Sqlite

DIALECTS: tuple[Dialect, ...] = (
    Duckdb("duckdb"),
    Mysql("mysql"),
    Postgres("postgres"),
    Sqlite("sqlite"),
)
_BY_NAME = {name: each for each in DIALECTS for name in (each.name, *each.url_names)}

__all__ = ["DIALECTS", "Dialect", "dialect_of"]


@lru_cache(maxsize=64)
def dialect_of(name: str) -> Dialect:
    """The dialect of that name, or that addresses have; one that is not listed is like most."""
    return _BY_NAME.get(name) or Dialect(name)
