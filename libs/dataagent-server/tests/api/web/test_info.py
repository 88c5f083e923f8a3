"""What the page is told of the installation: little, and the model's name after the login only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dataagent_server import __version__

if TYPE_CHECKING:
    from conftest import LiveServer


async def test_a_stranger_learns_what_the_page_needs_and_no_model(live: LiveServer) -> None:
    async with live.http(None) as browser:
        answer = await browser.get("/api/info")
    assert answer.json() == {
        "version": __version__,
        "model": None,
        "is_offline": False,
        "max_upload_bytes": 10 * 1024**2,
        "sandbox": live.container.core.sandboxes is not None,
        "multi_tenant": False,
        "auth_disabled": False,
    }


async def test_who_is_logged_in_is_told_the_model_and_that_it_is_offline(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(model="offline", sandbox="off", max_upload_bytes=4096)
    async with server.http("alice") as client:
        info = (await client.get("/api/info")).json()
    assert (info["model"], info["is_offline"], info["sandbox"]) == ("offline", True, False)
    assert info["max_upload_bytes"] == 4096


async def test_a_wrong_key_is_a_stranger(live: LiveServer) -> None:
    async with live.http(None, headers={"X-API-Key": "wrong"}) as client:
        answer = await client.get("/api/info")
    assert (answer.status_code, answer.json()["model"]) == (200, None)
