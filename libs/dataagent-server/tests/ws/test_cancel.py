"""Stop means stop, from the socket and from elsewhere."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from conftest import LiveServer


@requirement("R24.1", "R24.2", "R24.3", "R24.5", "P39", "P40", "G6")
async def test_cancel_ends_the_run_and_nothing_follows(live: LiveServer) -> None:
    async with live.socket() as socket:
        accepted = await socket.chat("!slow 50000 20")
        await socket.next("text")
        await socket.say("cancel")
        async with asyncio.timeout(WAIT_SECONDS):
            events = await socket.until("done")
        assert events[-1]["data"]["cancelled"] is True
        assert events[-1]["data"]["reason"] == "user_cancelled"
        assert events[-1]["run_id"] == accepted["run_id"]
        await socket.say("ping")
        await socket.next("pong")  # and no event in between


@requirement("R24.6", "P41", "G6")
async def test_a_cancelled_run_leaves_nothing_and_the_session_goes_on(live: LiveServer) -> None:
    async with live.socket() as socket:
        await socket.chat("!slow 50000 20")
        await socket.next("text")
        await socket.say("cancel")
        await socket.until("done")
        running = [
            task
            for task in await live.on_server(_tasks())
            if task.get_name().startswith(("run-", "pump-"))
        ]
        assert running == []
        await socket.chat("!echo next")
        assert (await socket.until("done"))[0]["data"]["content"] == "next"


@requirement("R24.1")
async def test_cancel_by_run_id_works_and_an_unknown_one_is_an_error(live: LiveServer) -> None:
    async with live.socket() as socket:
        accepted = await socket.chat("!slow 50000 20")
        await socket.next("text")
        await socket.say("cancel", {"run_id": accepted["run_id"], "session_id": socket.session_id})
        assert (await socket.until("done"))[-1]["data"]["cancelled"] is True
        await socket.say("cancel")
        assert (await socket.next("error"))["data"]["error_code"] == "nothing_to_cancel"


@requirement("R24.4", "R24.3", "R24.5", "P39", "P40", "G6")
async def test_cancel_over_rest_reaches_the_socket_of_the_run(live: LiveServer) -> None:
    async with live.socket() as socket, live.http() as client:
        accepted = await socket.chat("!slow 50000 20")
        await socket.next("text")
        async with asyncio.timeout(WAIT_SECONDS):
            answer = await client.post(f"/api/v1/chat/{socket.session_id}/cancel")
        assert answer.json() == {
            "session_id": socket.session_id,
            "run_id": accepted["run_id"],
            "status": "cancelled",
        }
        assert (await socket.until("done"))[-1]["data"]["cancelled"] is True
        run = await client.get(f"/api/v1/runs/{accepted['run_id']}")
        assert run.json()["status"] == "cancelled"
        again = await client.post(f"/api/v1/chat/{socket.session_id}/cancel")
        assert again.status_code == 404
        assert again.json() == {
            "error_code": "nothing_to_cancel",
            "message": "No active chat found for this session",
        }


@requirement("G6")
async def test_another_user_cannot_cancel_by_run_id_from_their_own_socket(
    live: LiveServer,
) -> None:
    async with live.socket() as mine, live.socket(user="bob") as theirs:
        accepted = await mine.chat("!slow 50000 20")
        await theirs.say("cancel", {"run_id": accepted["run_id"]})
        assert (await theirs.next("error"))["data"]["error_code"] == "run_not_found"
        await mine.next("text")
        await mine.say("cancel")
        await mine.until("done")


async def _tasks() -> set[asyncio.Task[object]]:
    return asyncio.all_tasks()
