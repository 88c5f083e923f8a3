"""Catalogues, kept beside their sources, so that a start need not ask every source.

What cannot be read (an older form, a damaged row) counts as not there: it is built again. Values
that a policy protects are not kept, whatever a catalogue brings along (`data/catalogue_rows.py`).
Above: `refresh.py`. Below: `data/catalogue_rows.py`, `storage/`.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import bindparam, delete, select
from sqlalchemy.exc import IntegrityError

from dataagent_core.data.catalogue_rows import load_catalogue, policies_of, save_catalogue
from dataagent_core.data.policy import PolicySet
from dataagent_core.data.types import Catalogue
from dataagent_core.errors import SourceNotFound
from dataagent_core.storage import Database
from dataagent_core.storage.tables import catalogues

_ID = catalogues.c.source_id == bindparam("wanted")
_WHEN = select(catalogues.c.refreshed_at).where(_ID)
_DELETE = delete(catalogues).where(_ID)


class CatalogueStore:
    """The last catalogue of each source."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def get(self, source_id: str) -> Catalogue | None:
        """The catalogue as it was last built, by whichever process; None if never."""
        return await self._db.read(lambda connection: load_catalogue(connection, source_id))

    async def refreshed_at(self, source_id: str) -> datetime | None:
        """When the kept catalogue was built; None if there is none."""
        return await self._db.read(lambda c: c.execute(_WHEN, {"wanted": source_id}).scalar())

    async def policies_of(self, source_id: str) -> PolicySet:
        """By which policies values of the source are kept or not.

        Raises:
            SourceNotFound: the source is gone.
        """
        return await self._db.read(lambda connection: policies_of(connection, source_id))

    async def put(self, catalogue: Catalogue) -> Catalogue:
        """Keep a catalogue in place of the one before; what was kept of it.

        Raises:
            SourceNotFound: the source is gone.
        """
        for _attempt in range(2):  # twice: two processes may both be the first
            try:
                return await self._db.write(
                    lambda connection: save_catalogue(connection, catalogue)
                )
            except IntegrityError:
                continue
        raise SourceNotFound("The data source of this catalogue is gone.")

    async def delete(self, source_id: str) -> None:
        """Forget a source's catalogue."""
        await self._db.write(lambda c: c.execute(_DELETE, {"wanted": source_id}).rowcount)
