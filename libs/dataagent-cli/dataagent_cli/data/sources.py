"""`dataagent sources`: which there are; register one, try it, look at it again, forget it.

Above: `obey.py`. Below: core's `DataService`, which keeps addresses encrypted and opens a source
once before it is registered.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from dataagent_cli import exits
from dataagent_cli.data.address import Ask, Left, place_of
from dataagent_cli.data.brought import one_source
from dataagent_cli.data.receipt import duration
from dataagent_cli.failures import sentence
from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.table import Heading, draw
from dataagent_core.config.settings import environment
from dataagent_core.data.service import Asked
from dataagent_core.data.sources import EVERYONE, Grant, NewSource, Source
from dataagent_core.errors import BadInput, DataAgentError, SourceNotFound

if TYPE_CHECKING:
    from dataagent_cli.data.arguments import DataOptions
    from dataagent_cli.data.desk import Desk
    from dataagent_cli.streams import Streams
    from dataagent_core.data.catalogue import CatalogueState
    from dataagent_core.data.types import Catalogue, Reader

_PATIENCE_SECONDS = 5.0
_UNKNOWN = "?"
_TRIAL = "SELECT 1 AS answer"
_SOURCES = (
    Heading("Name", is_whole=True),
    Heading("Kind"),
    Heading("Dialect"),
    Heading("Tables", is_number=True),
    Heading("Rows", is_number=True),
    Heading("About"),
)


async def manage_sources(desk: Desk, options: DataOptions) -> int:
    """Do what the action says; without one, list.

    Raises:
        DataAgentError: it cannot be done; the message says why.
    """
    match options.action:
        case "add":
            return await _add(desk, options)
        case "remove":
            return await _remove(desk, options.name)
        case "test":
            return await _test(desk, options.name)
        case "refresh":
            return await _refresh(desk, options.name)
        case _:
            return await _list(desk)


# -- listing --------------------------------------------------------------------------------


async def _list(desk: Desk) -> int:
    reader = await desk.reader()
    found = await desk.service.sources.list_for(reader)
    if not found:
        desk.streams.say("there is no data source yet")
    else:
        rows = await asyncio.gather(*(_row(desk, source, reader) for source in found))
        desk.streams.print(draw(_SOURCES, rows, width=desk.streams.width))
    if default := await _default(desk):
        desk.streams.say(f"Default source: {default.name}")
    if all(source.is_sample for source in found):
        desk.streams.say(f"hint: register your own: {desk.spelled}sources add NAME URL|FOLDER")
    return exits.OK


async def _row(desk: Desk, source: Source, reader: Reader) -> tuple[str, ...]:
    """What is known of a source; one that does not answer is still listed."""
    tables = rows = _UNKNOWN
    dialect = source.dialect
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            catalogue = await desk.service.catalogue(source, reader)
        tables, rows, dialect = f"{len(catalogue.tables):,}", _rows(catalogue), catalogue.dialect
    except TimeoutError:
        desk.streams.say(f"{source.name}: no answer in {_PATIENCE_SECONDS:.0f} s")
    except DataAgentError as error:
        desk.streams.say(one_line(sentence(error)))
    about = source.description or source.address
    return source.name, source.kind, dialect or _UNKNOWN, tables, rows, about


async def _default(desk: Desk) -> Source | None:
    """The source that is meant when none is named; None if there is none at all."""
    with suppress(SourceNotFound):
        return await desk.service.source(await desk.reader())
    return None


async def _say_default(desk: Desk, before: Source | None) -> None:
    """Say which source is the default, and whether that is news."""
    default = await _default(desk)
    if default is None:
        return
    is_same = before is not None and before.source_id == default.source_id
    desk.streams.say(f"Default source{':' if is_same else ' is now'} {default.name}")


def _rows(catalogue: Catalogue) -> str:
    """Rows of all tables; a plus where some tables' are not known."""
    counts = [table.row_count for table in catalogue.tables]
    known = [count for count in counts if count is not None]
    if not known:
        return "0" if not counts else _UNKNOWN
    return f"{sum(known):,}{'' if len(known) == len(counts) else '+'}"


# -- one source -----------------------------------------------------------------------------


async def _add(desk: Desk, options: DataOptions) -> int:
    streams = desk.streams
    grants = tuple(_grant(text) for text in options.grants)
    try:
        place = await place_of(
            options.place,
            environment=environment(),
            ask=_asker(streams) if streams.is_interactive else None,
            asks_password=options.asks_password,
        )
    except Left:
        return exits.INTERRUPTED
    new = NewSource(
        options.name,
        url=place.url,
        folder=place.folder,
        files=place.files,
        description=options.description,
        time_zone=options.time_zone,
        grants=grants,
    )
    default = await _default(desk)
    source = await desk.service.register(new, owner_id=desk.user_id)
    state = await desk.service.catalogue_state(source, await desk.reader())
    streams.say(f"added {source.name}: {_content(state.catalogue)}, at {source.address}")
    _say_left_out(desk, state)
    await _say_default(desk, default)
    if place.is_password_typed:
        streams.say(
            "hint: the password may be in your shell's history; ${NAME} in the URL or "
            "--ask-password keeps it out."
        )
    streams.say(f"hint: see its tables: {desk.spelled}schema {source.name}")
    return exits.OK


async def _test(desk: Desk, name: str) -> int:
    """Open a source, or what may become one, and say what it answers."""
    source = await one_source(desk, [name])
    state = await desk.fresh_catalogue(source)
    started = time.perf_counter()
    answered = await desk.service.query(source, _TRIAL, Asked(await desk.reader()))
    await desk.service.artifacts.delete(answered.artifact.artifact_id, owner=desk.user_id)
    took = duration((time.perf_counter() - started) * 1000)
    desk.streams.say(f"{source.name} answers: {_content(state.catalogue)}, a query in {took}")
    _say_left_out(desk, state)
    return exits.OK


async def _remove(desk: Desk, name: str) -> int:
    source = await desk.service.source(await desk.reader(), name)
    default = await _default(desk)
    await desk.service.forget(source.source_id)
    desk.streams.say(f"removed {source.name}; its data is untouched")
    await _say_default(desk, default)
    if source.is_sample:
        desk.streams.say("hint: it stays away; DATAAGENT_SAMPLE_DATA=true brings it back.")
    return exits.OK


async def _refresh(desk: Desk, name: str) -> int:
    source = await desk.service.source(await desk.reader(), name)
    state = await desk.fresh_catalogue(source)
    desk.streams.say(f"{source.name}: {_content(state.catalogue)}")
    for change in state.drift:
        desk.streams.say(f"  {one_line(change)}")
    _say_left_out(desk, state)
    return exits.OK


def _say_left_out(desk: Desk, state: CatalogueState) -> None:
    for problem in state.left_out:
        desk.streams.say(f"left out: {one_line(problem)}")


def _content(catalogue: Catalogue) -> str:
    count = len(catalogue.tables)
    tables = f"{count:,} table{'' if count == 1 else 's'}"
    return f"{tables}, {_rows(catalogue)} rows ({catalogue.dialect})"


def _grant(text: str) -> Grant:
    kind, _, name = text.partition(":")
    match kind:
        case "everyone" if not name:
            return EVERYONE
        case "user" | "tenant" | "agent" if name:
            return Grant(kind, name)
        case _:
            raise BadInput(
                f"{text!r} names nobody who could read the source.",
                details={"hint": "write everyone, user:NAME, tenant:NAME or agent:NAME."},
            )


def _asker(streams: Streams) -> Ask:
    """Asks on the terminal, without showing what is typed."""
    from prompt_toolkit import PromptSession

    async def ask(name: str) -> str | None:
        session: PromptSession[str] = PromptSession(output=streams.questions())
        try:
            return await session.prompt_async(
                f"{name}: ", is_password=True, handle_sigint=False, reserve_space_for_menu=0
            )
        except (KeyboardInterrupt, EOFError):
            return None

    return ask
