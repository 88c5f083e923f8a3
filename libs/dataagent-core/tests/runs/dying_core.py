"""A process that answers one message and dies on the way, as by `kill -9`. Run by test_restart.py.

Arguments: home directory, message, and the event type after which to die (`never`: something else,
such as the message's own command, does it). Options: the decision to give to requests, or nothing;
how many events of the type to see; who answers. Prints the session's and the run's id.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.hitl import Decision


async def main(
    home: str,
    message: str,
    last: str,
    decision: str = "",
    times: str = "1",
    assistant: str = "agent",
) -> None:
    settings = Settings(home=Path(home), model="scripted", enable_shell=True, sample_data=False)
    async with open_core(settings) as core:
        session = await core.sessions.get_or_create_session("anna", assistant)
        started = await core.runs.start(session.session_id, message, owner="anna")
        print(session.session_id, started.run.run_id, flush=True)
        seen = 0
        async for entry in core.runs.read(started.run.run_id):
            seen += entry.event_type == last
            if seen == int(times):
                os.kill(os.getpid(), signal.SIGKILL)
            if entry.event_type == "hitl_request" and decision:
                for pending in (await core.runs.get(started.run.run_id, owner="anna")).pending:
                    answer = Decision.from_dict({"type": decision})
                    await core.runs.decide(
                        started.run.run_id, pending.request_id, answer, owner="anna"
                    )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
