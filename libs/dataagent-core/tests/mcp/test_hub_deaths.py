"""A process that dies while a server's question is open: the call was in flight, the run fails."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.events import DoneEvent, ErrorEvent
from tests.programs import quick
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

from .hub.shop import Shop, Talk, told

DYING = Path(__file__).parents[1] / "runs" / "dying_core.py"


async def died(home: Path, message: str, *more: str) -> tuple[str, str]:
    """Run a core to its death after a question; the session's and the run's id."""
    process = await asyncio.create_subprocess_exec(
        *(quick("python"), str(DYING), str(home), message, "hitl_request", *more),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == -signal.SIGKILL, err.decode()
    session_id, run_id = out.decode().split()
    return session_id, run_id


@requirement("G2", "G3")
@pytest.mark.parametrize("is_after_approval", [False, True])
async def test_a_run_that_dies_while_a_server_asks_ends_visibly_and_does_nothing_twice(
    make_settings: Callable[..., Settings],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    is_after_approval: bool,
) -> None:
    monkeypatch.setenv("DATAAGENT_MCP_WAIT", "30")
    async with open_core(make_settings(), grace_seconds=2) as core:
        shop = Shop(core)
        spec = await shop.register("mine", scope="user", user_id="anna")
        await (await shop.talk()).call("mine__mall4j_product_search")
        await shop.approve(spec, "colour")
    script, more = told("mine__colour"), ()
    if is_after_approval:  # the thread then has an older request, with an answer
        script, more = f"{told('mine__order_cancel', orderId='o1')}\n{script}", ("approve", "2")
    session_id, run_id = await died(tmp_path / "home", script, *more)
    async with open_core(make_settings(), grace_seconds=2) as core:
        talk = Talk(core, session_id, "anna")
        view = await core.runs.get(run_id, owner="anna")
        events = await talk.events(view.run)
        assert [type(event) for event in events[-2:]] == [ErrorEvent, DoneEvent]
        assert (await core.runs.get(run_id, owner="anna")).run.status == "failed"
        asked = [event for event in events if event.event_type == "hitl_request"]
        assert len(asked) == 1 + is_after_approval
        assert (await talk.call("mine__mall4j_product_search")).status == "success"
