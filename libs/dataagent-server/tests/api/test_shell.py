"""The shell on a server: in a sandbox or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer


async def ran(
    client: httpx.AsyncClient, command: str, session_id: str | None = None, **arguments: Any
) -> tuple[str, str, str]:
    """The tool result's status and text, and the session."""
    call = json.dumps({"command": command, **arguments})
    body = {"message": f"!tool shell {call}", "session_id": session_id}
    answer = (await client.post("/api/v1/chat", json=body)).json()
    [result] = [each["data"] for each in answer["events"] if each["event_type"] == "tool_result"]
    return result["status"], str(result["result"]), answer["session_id"]


@requirement("R7.4")
async def test_without_a_sandbox_a_server_has_no_shell(
    start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    server = start_server(enable_shell=True, auto_approve=True, sandbox="off", sample_data=False)
    async with server.http() as client:
        status, text, _ = await ran(client, f"touch {tmp_path}/reached")
    assert status == "error"
    assert "shell is not a valid tool" in text
    assert not (tmp_path / "reached").exists()


@requirement("R7.4")
async def test_in_the_sandbox_the_shell_goes_on_and_sees_nothing_of_the_host(
    start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    server = start_server(enable_shell=True, auto_approve=True, sample_data=False)
    async with server.http() as client:
        made = "mkdir -p sub && cd sub && f() { echo from f; } && export A=1"
        status, text, session_id = await ran(client, made)
        assert (status, text) == ("success", "[no output]")
        status, text, _ = await ran(client, "sleep 60", session_id, timeout_seconds=0.5)
        assert (status, "stopped after 0.5 seconds" in text) == ("error", True)
        _, text, _ = await ran(client, "f; echo $A; basename $PWD", session_id)
        assert text == "from f\n1\nsub"
        _, text, _ = await ran(
            client, f"cat {secret}; echo {server.container.settings.home_dir}/*", session_id
        )
        assert "of the host" not in text
        assert f"{server.container.settings.home_dir}/*" in text
        _, text, _ = await ran(client, "echo [$A]")
        assert text == "[]"
