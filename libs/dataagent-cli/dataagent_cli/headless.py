"""One question from the command line: `dataagent -p`.

The answer goes to standard output; the exit status says how it went.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.input.piped import read_piped
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from dataagent_cli.conversation import Conversation
    from dataagent_cli.streams import Streams


def full_question(question: str, streams: Streams) -> str:
    """The question with what was piped in below it.

    Raises:
        BadInput: there is neither.
        NotText: what was piped in is not text.
    """
    piped = "" if streams.piped is None else read_piped(streams.piped, note=streams.say)
    parts = [part for part in (question.rstrip(), piped) if part.strip()]
    if not parts:
        raise BadInput('There is no question. Write it after -p: dataagent -p "How many users?"')
    return "\n\n".join(parts)


async def answer_one(conversation: Conversation, question: str) -> int:
    """Ask, show the answer, and return the exit status."""
    return (await conversation.ask(question)).exit_code
