"""What someone brings along: files, folders and addresses as sources of this process alone.

Files that hold tables become one source together, so that they can be joined; a database is one by
itself. Nothing is registered, and nothing of it is left when the program ends. A plain word is the
name of a source that is registered. Above: `main.py`, `sql.py`, `schema.py`. Below: core's
`DataService.lend`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli.data.address import Left, Place, place_of
from dataagent_core.config.settings import environment
from dataagent_core.data.sources import NewSource, Source
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from dataagent_cli.data.desk import Desk

_NAME = re.compile(r"\w[\w-]{0,63}")
_TOGETHER = "files"
_MOST_NAME = 60


def is_name(written: str) -> bool:
    """Whether it names a registered source, and is no path or address."""
    return _NAME.fullmatch(written) is not None


async def bring(desk: Desk, written: Sequence[str]) -> list[Source]:
    """The sources that are meant, in their order; those that are no names are opened for now.

    Raises:
        BadInput: there is no such file, or it is no table.
        SourceNotFound: there is no source of that name.
        SourceUnavailable: a database does not answer.
    """
    reader = await desk.reader()
    found: list[Source] = []
    files: list[str] = []
    for each in written:
        if is_name(each):
            found.append(await desk.service.source(reader, each))
            continue
        place = await _place(each)
        if place.files:
            files += place.files
        else:
            found.append(await _lent(desk, _named(place, each), place))
    if files:
        name = _plain(Path(files[0]).stem) if len(files) == 1 else _TOGETHER
        found.insert(0, await _lent(desk, name, Place(files=tuple(dict.fromkeys(files)))))
    return found


async def one_source(desk: Desk, written: Sequence[str]) -> Source:
    """The one source that is meant; the usual one if nothing is written.

    Raises:
        BadInput: it is more than one.
        Others: as `bring`.
    """
    if not written:
        return await desk.service.source(await desk.reader())
    found = await bring(desk, written)
    if len(found) > 1:
        names = ", ".join(source.name for source in found)
        raise BadInput(
            f"A statement reads one source, and these are {len(found)}: {names}.",
            details={"hint": "files with tables are one source together; name them alone."},
        )
    return found[0]


async def _place(written: str) -> Place:
    try:
        return await place_of(written, environment=environment(), ask=None)
    except Left as error:  # nobody is asked, so nobody leaves
        raise BadInput(f"{written!r} needs a password.") from error


async def _lent(desk: Desk, name: str, place: Place) -> Source:
    new = NewSource(name, url=place.url, folder=place.folder, files=place.files)
    return await desk.service.lend(new, owner_id=desk.user_id)


def _named(place: Place, written: str) -> str:
    """A name for a folder or a database: that of its file, else of what it is."""
    if "://" not in written:
        return _plain(Path(written).absolute().stem)
    return _plain(written.partition("?")[0].rstrip("/").rpartition("/")[2].partition(".")[0])


def _plain(text: str) -> str:
    return re.sub(r"[^\w-]+", "_", text).strip("_-")[:_MOST_NAME] or "data"
