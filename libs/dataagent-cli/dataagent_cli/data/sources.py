"""`dataagent sources`: lists, adds, tests, refreshes and removes data sources."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from dataagent_cli import exit_codes
from dataagent_cli.data.named_sources import (
    AskSecret,
    PromptCancelled,
    parse_location,
    resolve_source,
)
from dataagent_cli.data.stored_results import duration
from dataagent_cli.failures import sentence
from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.tables import Heading, draw
from dataagent_core.config.settings import environment
from dataagent_core.data.service import QueryContext
from dataagent_core.data.sources import EVERYONE, Grant, NewSource, Source
from dataagent_core.errors import BadInput, DataAgentError, SourceNotFound

if TYPE_CHECKING:
    from dataagent_cli.arguments import DataOptions
    from dataagent_cli.data.context import DataCommandContext
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


async def manage_sources(context: DataCommandContext, options: DataOptions) -> int:
    """Run the action; without one, list the sources.

    Raises:
        DataAgentError: it was refused, or failed.
    """
    match options.action:
        case "add":
            return await _add(context, options)
        case "remove":
            return await _remove(context, options.name)
        case "test":
            return await _test(context, options.name)
        case "refresh":
            return await _refresh(context, options.name)
        case _:
            return await _list(context)


# -- listing --------------------------------------------------------------------------------


async def _list(context: DataCommandContext) -> int:
    reader = await context.reader()
    found = await context.service.sources.list_for(reader)
    if not found:
        context.streams.say("no data source yet")
    else:
        rows = await asyncio.gather(*(_row(context, source, reader) for source in found))
        context.streams.print(draw(_SOURCES, rows, width=context.streams.width))
    if default := await _default(context):
        context.streams.say(f"Default source: {default.name}")
    if all(source.is_sample for source in found):
        context.streams.say(
            f"hint: register your own: {context.command_prefix}sources add NAME URL|FOLDER"
        )
    return exit_codes.OK


async def _row(context: DataCommandContext, source: Source, reader: Reader) -> tuple[str, ...]:
    """A source as a row; one that does not answer is listed with what is known."""
    tables = rows = _UNKNOWN
    dialect = source.dialect
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            catalogue = await context.service.catalogue(source, reader)
        tables, rows, dialect = f"{len(catalogue.tables):,}", _rows(catalogue), catalogue.dialect
    except TimeoutError:
        context.streams.say(f"{source.name}: no answer in {_PATIENCE_SECONDS:.0f} s")
    except DataAgentError as error:
        context.streams.say(one_line(sentence(error)))
    about = source.description or source.address
    return source.name, source.kind, dialect or _UNKNOWN, tables, rows, about


async def _default(context: DataCommandContext) -> Source | None:
    """The default source; None without any source."""
    with suppress(SourceNotFound):
        return await context.service.source(await context.reader())
    return None


async def _note_default(context: DataCommandContext, before: Source | None) -> None:
    """Say which source is the default, and whether it is another one."""
    default = await _default(context)
    if default is None:
        return
    is_same = before is not None and before.source_id == default.source_id
    context.streams.say(f"Default source{':' if is_same else ' is now'} {default.name}")


def _rows(catalogue: Catalogue) -> str:
    """The rows of all tables, with a plus if some are unknown."""
    counts = [table.row_count for table in catalogue.tables]
    known = [count for count in counts if count is not None]
    if not known:
        return "0" if not counts else _UNKNOWN
    return f"{sum(known):,}{'' if len(known) == len(counts) else '+'}"


# -- one source -----------------------------------------------------------------------------


async def _add(context: DataCommandContext, options: DataOptions) -> int:
    streams = context.streams
    grants = tuple(_grant(text) for text in options.grants)
    try:
        place = await parse_location(
            options.place,
            environment=environment(),
            ask=_secret_prompt(streams) if streams.is_interactive else None,
            asks_password=options.asks_password,
        )
    except PromptCancelled:
        return exit_codes.INTERRUPTED
    new = NewSource(
        options.name,
        url=place.url,
        folder=place.folder,
        files=place.files,
        description=options.description,
        time_zone=options.time_zone,
        grants=grants,
    )
    default = await _default(context)
    source = await context.service.register(new, owner_id=context.user_id)
    state = await context.service.catalogue_state(source, await context.reader())
    streams.say(f"added {source.name}: {_content(state.catalogue)}, at {source.address}")
    _note_omitted(context, state)
    await _note_default(context, default)
    if place.is_password_typed:
        streams.say(
            "hint: the password may be in your shell's history; ${NAME} in the URL or "
            "--ask-password keeps it out."
        )
    streams.say(f"hint: see its tables: {context.command_prefix}schema {source.name}")
    return exit_codes.OK


async def _test(context: DataCommandContext, name: str) -> int:
    """Open a registered source, a URL or a file, and run a query."""
    source = await resolve_source(context, [name])
    state = await context.fresh_catalogue(source)
    started = time.perf_counter()
    answered = await context.service.query(source, _TRIAL, QueryContext(await context.reader()))
    await context.service.artifacts.delete(answered.artifact.artifact_id, owner=context.user_id)
    took = duration((time.perf_counter() - started) * 1000)
    context.streams.say(f"{source.name} answers: {_content(state.catalogue)}, a query in {took}")
    _note_omitted(context, state)
    return exit_codes.OK


async def _remove(context: DataCommandContext, name: str) -> int:
    source = await context.service.source(await context.reader(), name)
    default = await _default(context)
    await context.service.forget(source.source_id)
    context.streams.say(f"removed {source.name}; its data is untouched")
    await _note_default(context, default)
    if source.is_sample:
        context.streams.say("hint: DATAAGENT_SAMPLE_DATA=true restores it.")
    return exit_codes.OK


async def _refresh(context: DataCommandContext, name: str) -> int:
    source = await context.service.source(await context.reader(), name)
    state = await context.fresh_catalogue(source)
    context.streams.say(f"{source.name}: {_content(state.catalogue)}")
    for change in state.drift:
        context.streams.say(f"  {one_line(change)}")
    _note_omitted(context, state)
    return exit_codes.OK


def _note_omitted(context: DataCommandContext, state: CatalogueState) -> None:
    for problem in state.left_out:
        context.streams.say(f"left out: {one_line(problem)}")


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
                f"{text!r} does not name a reader.",
                details={"hint": "write everyone, user:NAME, tenant:NAME or agent:NAME."},
            )


def _secret_prompt(streams: Streams) -> AskSecret:
    """A function that asks on the terminal without showing what is typed."""
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
