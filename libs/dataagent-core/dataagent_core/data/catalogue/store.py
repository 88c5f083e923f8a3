"""Catalogues, kept as JSON beside their sources, so that a start need not ask every source.

What cannot be read (an older form, a damaged row) counts as not there: it is built again. Above:
`refresh.py`. Below: `storage/`.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.data.types import Catalogue, Column, ForeignKey, Table
from dataagent_core.errors import SourceNotFound
from dataagent_core.storage import Database
from dataagent_core.storage.tables import catalogues
from dataagent_core.storage.text import storable

logger = logging.getLogger(__name__)

_FORM = 1
_ID = catalogues.c.source_id == bindparam("wanted")
_GET = select(catalogues).where(_ID)
_WHEN = select(catalogues.c.refreshed_at).where(_ID)
_DELETE = delete(catalogues).where(_ID)
_UPDATE = (
    update(catalogues)
    .where(_ID)
    .values(
        hash=bindparam("new_hash"), refreshed_at=bindparam("at"), content=bindparam("new_content")
    )
)


class CatalogueStore:
    """The last catalogue of each source."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def get(self, source_id: str) -> Catalogue | None:
        """The catalogue as it was last built, by whichever process; None if never."""
        row = await self._db.read(lambda c: c.execute(_GET, {"wanted": source_id}).first())
        return None if row is None else _catalogue(row)

    async def refreshed_at(self, source_id: str) -> datetime | None:
        """When the kept catalogue was built; None if there is none."""
        return await self._db.read(lambda c: c.execute(_WHEN, {"wanted": source_id}).scalar())

    async def put(self, catalogue: Catalogue) -> None:
        """Keep a catalogue in place of the one before.

        Raises:
            SourceNotFound: the source is gone.
        """
        values: dict[str, Any] = {
            "wanted": catalogue.source_id,
            "new_hash": catalogue.hash,
            "at": catalogue.refreshed_at,
            "new_content": to_json(catalogue),
        }
        for _attempt in range(2):  # twice: two processes may both be the first
            try:
                return await self._db.write(lambda connection: _put(connection, values))
            except IntegrityError:
                continue
        raise SourceNotFound("The data source of this catalogue is gone.")

    async def delete(self, source_id: str) -> None:
        """Forget a source's catalogue."""
        await self._db.write(lambda c: c.execute(_DELETE, {"wanted": source_id}).rowcount)


def _put(connection: Connection, values: dict[str, Any]) -> None:
    if connection.execute(_UPDATE, values).rowcount:
        return
    row = {
        "source_id": values["wanted"],
        "hash": values["new_hash"],
        "refreshed_at": values["at"],
        "content": values["new_content"],
    }
    connection.execute(insert(catalogues), row)


def to_json(catalogue: Catalogue) -> str:
    """The dialect and the tables as text."""
    tables = [asdict(table) for table in catalogue.tables]
    content = {"form": _FORM, "dialect": catalogue.dialect, "tables": tables}
    return storable(json.dumps(content, ensure_ascii=False, separators=(",", ":")))


def _catalogue(row: Row[Any]) -> Catalogue | None:
    try:
        content = json.loads(row.content)
        if content["form"] != _FORM:
            return None
        return Catalogue(
            source_id=row.source_id,
            dialect=content["dialect"],
            tables=tuple(_table(table) for table in content["tables"]),
            hash=row.hash,
            refreshed_at=row.refreshed_at,
        )
    except (KeyError, TypeError, ValueError):
        logger.exception("the kept catalogue of source %s cannot be read", row.source_id)
        return None


def _table(kept: dict[str, Any]) -> Table:
    changed: dict[str, Any] = {
        "columns": tuple(_column(column) for column in kept["columns"]),
        "primary_key": tuple(kept["primary_key"]),
        "foreign_keys": tuple(_foreign_key(key) for key in kept["foreign_keys"]),
    }
    return Table(**{**kept, **changed})


def _column(kept: dict[str, Any]) -> Column:
    samples: Any = tuple(kept["samples"])
    return Column(**{**kept, "samples": samples})


def _foreign_key(kept: dict[str, Any]) -> ForeignKey:
    return ForeignKey(
        columns=tuple(kept["columns"]),
        target_table=kept["target_table"],
        target_columns=tuple(kept["target_columns"]),
    )
