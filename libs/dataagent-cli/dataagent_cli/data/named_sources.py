"""What someone brings along: files, folders and addresses as sources of this process alone.

Files that hold tables become one source together, so that they can be joined; a database is one by
itself. Nothing is registered, and nothing of it is left when the program ends. A plain word is the
name of a source that is registered. Above: `main.py`, `sql.py`, `schema.py`. Below: core's
`DataService.add_temporary`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli.data.address import PromptCancelled, SourceLocation, parse_location
from dataagent_core.config.settings import environment
from dataagent_core.data.sources import NewSource, Source
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from dataagent_cli.data.context import DataCommandContext

_NAME = re.compile(r"\w[\w-]{0,63}")
_COMBINED_NAME = "files"
_MOST_NAME = 60


def is_name(written: str) -> bool:
    """Whether it names a registered source, and is no path or address."""
    return _NAME.fullmatch(written) is not None


async def open_sources(context: DataCommandContext, written: Sequence[str]) -> list[Source]:
    """The sources that are meant, in their order; those that are no names are opened for now.

    Raises:
        BadInput: there is no such file, or it is no table.
        SourceNotFound: there is no source of that name.
        SourceUnavailable: a database does not answer.
    """
    reader = await context.reader()
    found: list[Source] = []
    files: list[str] = []
    for each in written:
        if is_name(each):
            found.append(await context.service.source(reader, each))
            continue
        place = await _parse_location(each)
        if place.files:
            files += place.files
        else:
            found.append(await _register_temporary(context, _derived_name(place, each), place))
    if files:
        name = _sanitized_name(Path(files[0]).stem) if len(files) == 1 else _COMBINED_NAME
        found.insert(
            0,
            await _register_temporary(
                context, name, SourceLocation(files=tuple(dict.fromkeys(files)))
            ),
        )
    return found


async def resolve_source(context: DataCommandContext, written: Sequence[str]) -> Source:
    """The one source that is meant; the usual one if nothing is written.

    Raises:
        BadInput: it is more than one.
        Others: as `open_sources`.
    """
    if not written:
        return await context.service.source(await context.reader())
    found = await open_sources(context, written)
    if len(found) > 1:
        names = ", ".join(source.name for source in found)
        raise BadInput(
            f"A statement reads one source, and these are {len(found)}: {names}.",
            details={"hint": "files with tables are one source together; name them alone."},
        )
    return found[0]


async def _parse_location(written: str) -> SourceLocation:
    try:
        return await parse_location(written, environment=environment(), ask=None)
    except PromptCancelled as error:  # nobody is asked, so nobody leaves
        raise BadInput(f"{written!r} needs a password.") from error


async def _register_temporary(
    context: DataCommandContext, name: str, place: SourceLocation
) -> Source:
    new = NewSource(name, url=place.url, folder=place.folder, files=place.files)
    return await context.service.add_temporary(new, owner_id=context.user_id)


def _derived_name(place: SourceLocation, written: str) -> str:
    """A name for a folder or a database: that of its file, else of what it is."""
    if "://" not in written:
        return _sanitized_name(Path(written).absolute().stem)
    return _sanitized_name(
        written.partition("?")[0].rstrip("/").rpartition("/")[2].partition(".")[0]
    )


def _sanitized_name(text: str) -> str:
    return re.sub(r"[^\w-]+", "_", text).strip("_-")[:_MOST_NAME] or "data"
