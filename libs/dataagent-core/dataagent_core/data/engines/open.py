"""From a source's address to its engine.

    sqlite:///path.db            a SQLite file
    duckdb:///path.duckdb        a DuckDB file
    postgresql://user@host/db    PostgreSQL
    mysql://user@host/db         MySQL or MariaDB, also mariadb://
    anything else                a SQLAlchemy dialect, if unprotected ones are allowed

A file that is not there is an error and is not created. Above: the query service. Below: the
engines, each imported when first needed.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from dataagent_core.data.engines.base import Engine, EngineOptions
from dataagent_core.data.engines.duckdb_process import DuckdbProcesses
from dataagent_core.errors import Misconfigured

_FILES = ("sqlite", "duckdb")


def open_engine(
    url: str | URL,
    *,
    options: EngineOptions | None = None,
    processes: DuckdbProcesses | None = None,
) -> Engine:
    """The engine of an address. A server is first reached when something is asked of it.

    DuckDB runs in `processes`; without, its engine has processes of its own.

    Raises:
        Misconfigured: the address cannot be read, its kind is not known, or its driver is missing.
        SourceUnavailable: a file is not there or not of its kind.
    """
    address = _parsed(url)
    chosen = options or EngineOptions()
    kind = address.get_backend_name()
    if kind in _FILES:
        return _file_engine(kind, _path(address), chosen, processes)
    return _server_engine(kind, address, chosen)


def _parsed(url: str | URL) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        raise Misconfigured(
            "The address of the data source cannot be read. "
            "Write it like postgresql://user:password@host:5432/database or sqlite:///path/file.db."
        ) from None  # the original message quotes the address, password and all


def _path(address: URL) -> Path:
    if not address.database or address.database == ":memory:" or "file:" in address.database:
        raise Misconfigured(
            f"A {address.get_backend_name()} source needs the path of a file: "
            f"{address.get_backend_name()}:///path/to/file."
        )
    return Path(address.database)


def _file_engine(
    kind: str, path: Path, options: EngineOptions, processes: DuckdbProcesses | None
) -> Engine:
    if kind == "sqlite":
        from dataagent_core.data.engines.sqlite import SqliteEngine

        return SqliteEngine(path, options)
    from dataagent_core.data.engines.duckdb import DuckdbEngine

    return DuckdbEngine(path, options, processes)


def _server_engine(kind: str, address: URL, options: EngineOptions) -> Engine:
    try:
        if kind in ("postgresql", "postgres"):
            from dataagent_core.data.engines.postgres import PostgresEngine

            return PostgresEngine(address, options)
        if kind in ("mysql", "mariadb"):
            from dataagent_core.data.engines.mysql import MysqlEngine

            return MysqlEngine(address, options)
    except ImportError as error:
        raise Misconfigured(
            f"The driver for {kind} is not installed: {error.name}. "
            f"Install dataagent-core with its extra for {kind}."
        ) from error
    from dataagent_core.data.engines.generic import GenericEngine

    return GenericEngine(address, options)
