"""An OpenAI-compatible endpoint that streams 50 chunks: `python -m bench.a_standin PORT`.

The tests' stand-in with a script that reads the conversation: after a message with `!tool` it calls
`ls`, otherwise it answers. Each chunk is its own write, as a real endpoint sends its tokens, but
without delay, so that the client under test is what limits.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from tests.standins.openai_server import Stream, openai_server, text, tool_calls

CHUNKS = 50
_ANSWER = text(*(f"chunk{number} " for number in range(CHUNKS)))
_CALL = tool_calls(("ls", '{"path": "/files"}'))


def reply(body: dict[str, Any]) -> Stream:
    """A tool call if the last message asks for one that was not made yet, else the answer."""
    for message in reversed(body["messages"]):
        if message["role"] == "tool":
            return _ANSWER
        if message["role"] == "user":
            return _CALL if "!tool" in str(message["content"]) else _ANSWER
    return _ANSWER


async def serve(port: int) -> None:
    """Serve until ended, without a memory of the requests."""
    async with openai_server(reply, port=port) as server:
        while True:
            await asyncio.sleep(1)
            server.requests.clear()


def main() -> None:
    """Serve on the port that the command line names."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(int(sys.argv[1])))


if __name__ == "__main__":
    main()
