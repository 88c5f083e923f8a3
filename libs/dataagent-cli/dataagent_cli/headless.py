"""One question from the command line: `dataagent -p` and `dataagent ask`.

Piped text belongs to the question, piped data is a source of this process. The answer goes to
standard output as text, as one JSON object, or as rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli.input.piped import read_piped
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from dataagent_cli.arguments import CliOptions
    from dataagent_cli.conversation import Conversation
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_cli.streams import Streams
    from dataagent_cli.ui import View

_INPUT = "-"


@dataclass(frozen=True, slots=True)
class HeadlessInput:
    """The question, if there is one, and the sources of the command line and the input."""

    question: str | None
    sources: tuple[str, ...]


@contextmanager
def read_headless_input(options: CliOptions, streams: Streams) -> Generator[HeadlessInput]:
    """Read what is piped in; data is in a temporary file during the block.

    Raises:
        BadInput: there is no question, or no data although some is named.
        NotText: the input is neither text nor data.
    """
    sources = tuple(each for each in options.sources if each != _INPUT)
    is_data = _INPUT in options.sources
    if options.question is None:
        if is_data:
            raise BadInput("--source - reads standard input, which is the keyboard here.")
        yield HeadlessInput(None, sources)
    elif options.command == "ask" or is_data:
        with tempfile.TemporaryDirectory(prefix="dataagent-") as folder:
            yield _with_data(options, streams, Path(folder), is_data=is_data)
    else:
        yield HeadlessInput(full_question(options.question, streams), sources)


def _with_data(
    options: CliOptions, streams: Streams, folder: Path, *, is_data: bool
) -> HeadlessInput:
    from dataagent_cli.data.piped import read_piped_data

    sources = tuple(each for each in options.sources if each != _INPUT)
    if streams.piped is None:
        if is_data:
            raise BadInput("--source - reads standard input, and nothing is piped in.")
        return HeadlessInput(_question(options.question, ""), sources)
    found = read_piped_data(streams.piped, folder, note=streams.say, is_data=is_data)
    if isinstance(found, str):
        return HeadlessInput(_question(options.question, found), sources)
    return HeadlessInput(_question(options.question, ""), (str(found), *sources))


def full_question(question: str, streams: Streams) -> str:
    """The question, followed by the piped text.

    Raises:
        BadInput: there is neither.
        NotText: the input is not text.
    """
    piped = "" if streams.piped is None else read_piped(streams.piped, note=streams.say)
    return _question(question, piped)


def _question(question: str | None, piped: str) -> str:
    parts = [part for part in ((question or "").rstrip(), piped) if part.strip()]
    if not parts:
        raise BadInput('There is no question. Write it after -p: dataagent -p "How many users?"')
    return "\n\n".join(parts)


async def open_sources_for(data_context: DataCommandContext, asked: HeadlessInput) -> str | None:
    """Open the sources and return the question; a question about a single source names it.

    Raises:
        DataAgentError: a source does not exist, or cannot be opened.
    """
    if not asked.sources:
        return asked.question
    from dataagent_cli.data.named_sources import open_sources

    found = await open_sources(data_context, asked.sources)
    if asked.question is None or asked.question.startswith("/"):
        return asked.question
    return f"@{found[0].name} {asked.question}" if len(found) == 1 else asked.question


async def answer_question(
    conversation: Conversation,
    question: str,
    *,
    data_context: DataCommandContext,
    view: View,
    output_format: str,
) -> int:
    """Ask, show the answer, and return the exit status.

    Raises:
        DataAgentError: the question was not accepted, or there is no table to write.
    """
    end = await conversation.ask(question)
    from dataagent_cli.ui import BufferedView

    if isinstance(view, BufferedView):
        from dataagent_cli.data.formats import CompletedAnswer, write_csv, write_json

        answer = CompletedAnswer(view, end, conversation.session_id)
        if output_format == "csv":
            await write_csv(data_context, answer)
        else:
            await write_json(data_context, answer, data_context.prices)
    return end.exit_code
