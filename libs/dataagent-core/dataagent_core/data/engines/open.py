"""Opens the engine for a source's address.

    sqlite:///path.db            a SQLite file
    duckdb:///path.duckdb        a DuckDB file
    postgresql://user@host/db    PostgreSQL
    mysql://user@host/db         MySQL or MariaDB, also mariadb://
    anything else                a SQLAlchemy dialect, if unprotected ones are allowed

A missing file is an error and is not created. An engine's module is imported on first use.
"""

from __future__ import annotations

from importlib import import_module

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from dataagent_core.data.dialects import dialect_of
from dataagent_core.data.engines.base import Engine, EngineOptions
from dataagent_core.data.engines.duckdb_process import DuckdbProcesses
from dataagent_core.errors import Misconfigured


def open_engine(
    url: str | URL,
    *,
    options: EngineOptions | None = None,
    processes: DuckdbProcesses | None = None,
) -> Engine:
    """The engine of an address. A server is first reached by the first statement.

    DuckDB runs in `processes`; without, its engine has processes of its own.

    Raises:
        Misconfigured: the address cannot be read, its kind is not known, or its driver is missing.
        SourceUnavailable: a file is not there or not of its kind.
    """
    address = _parsed(url)
    kind = address.get_backend_name()
    try:
        module = import_module(f"{__package__}.{dialect_of(kind).engine}")
    except ImportError as error:
        raise Misconfigured(
            f"The driver for {kind} is not installed: {error.name}. "
            f"Install dataagent-core with its extra for {kind}."
        ) from error
    engine: Engine = module.open_source(address, options or EngineOptions(), processes)
    return engine


def _parsed(url: str | URL) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        raise Misconfigured(
            "The address of the data source cannot be read. "
            "Write it like postgresql://user:password@host:5432/database or sqlite:///path/file.db."
        ) from None  # the original message quotes the address, password and all
