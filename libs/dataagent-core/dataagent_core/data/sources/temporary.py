"""Sources of one process: lent to it for as long as it runs, and kept nowhere.

A file named on the command line, or data that was piped in. They are listed and queried as all
others are, by the same guarded path, and nobody else ever sees them. Above: `store.py`. Below:
`rows.py`, which describes them.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from pydantic import SecretStr

from dataagent_core.data.sources.rows import display_address
from dataagent_core.data.sources.secrets import has_password
from dataagent_core.data.sources.types import NewSource, Source, now

PREFIX = "temporary-"
"""How the ids of such sources begin, and with them the names of what is loaded for them."""


class TemporarySources:
    """The sources that were lent to this process, in the order in which they came."""

    def __init__(self) -> None:
        self._held: dict[str, Source] = {}
        self._urls: dict[str, SecretStr] = {}

    def add(self, new: NewSource, *, owner_id: str) -> Source:
        """Hold a source that was checked and whose name is free."""
        moment, source_id = now(), f"{PREFIX}{uuid4().hex}"
        source = Source(
            source_id=source_id,
            name=new.name,
            kind="files" if new.url is None else "database",
            description=new.description,
            dialect=None,
            owner_id=owner_id,
            is_sample=False,
            is_from_config=False,
            default_policy=new.default_policy,
            time_zone=new.time_zone,
            limits=new.limits,
            grants=(),
            has_credentials=new.url is not None and has_password(new.url),
            address=display_address(new),
            folder=new.folder,
            files=new.files,
            address_changed_at=moment,
            created_at=moment,
            updated_at=moment,
            is_temporary=True,
        )
        self._held[source_id] = source
        if new.url is not None:
            self._urls[source_id] = new.url
        return source

    def all(self) -> list[Source]:
        """Every one."""
        return list(self._held.values())

    def find(self, source_id_or_name: str) -> Source | None:
        """The one of that id or name."""
        for source in self._held.values():
            if source_id_or_name in (source.source_id, source.name):
                return source
        return None

    def url_of(self, source_id: str) -> SecretStr | None:
        """Where it is; None if it is made of files."""
        return self._urls.get(source_id)

    def note_dialect(self, source_id: str, dialect: str) -> None:
        """Remember which dialect it speaks."""
        self._held[source_id] = replace(self._held[source_id], dialect=dialect)

    def remove(self, source_id: str) -> None:
        """Forget it."""
        self._held.pop(source_id, None)
        self._urls.pop(source_id, None)
