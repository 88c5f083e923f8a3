"""A conversation over both hosts: the core in this process, and a real server on loopback."""

from __future__ import annotations

import io
import signal
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest

from dataagent_cli import exit_codes
from dataagent_cli.conversation import Conversation, show_resumed
from dataagent_cli.hitl import TerminalHITLHandler
from dataagent_cli.hosts import Host, UnsupportedOnServer
from dataagent_cli.hosts.local import LocalHost
from dataagent_cli.hosts.server import open_server
from dataagent_cli.turn import TurnRules, TurnRunner
from dataagent_cli.ui import PlainRenderer
from dataagent_client import Backoff, DataAgentClient
from dataagent_core.app.assembly import open_core
from dataagent_core.config import SessionState, Settings
from dataagent_core.errors import (
    BadInput,
    NotAuthenticated,
    SessionBusy,
    SessionNotFound,
    SkillNotFound,
    Unavailable,
)
from dataagent_core.runs.types import RunOptions
from tests.end_to_end.server import free_port, run_server
from tests.waiting import WAIT_SECONDS

PATIENT = Backoff(first_seconds=0.05, most_seconds=0.5, attempts=200)  # a start takes a while
WRITE = '!tool write_file {"file_path": "/note.txt", "content": "kept\\n"}\n!echo written'


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the scripted model, which knows one key."""
    home, port = tmp_path_factory.mktemp("server"), free_port()
    settings = {
        "DATAAGENT_HOME": str(home),
        "DATAAGENT_AGENTS_HOME": str(home / "agents"),
        "DATAAGENT_MODEL": "scripted",
        "DATAAGENT_API_KEYS": "ann:k1",
        "DATAAGENT_PORT": str(port),
    }
    server = run_server("serve", settings, home / "server.log")
    yield f"http://127.0.0.1:{port}"
    server.send_signal(signal.SIGTERM)
    server.wait(WAIT_SECONDS)


@pytest.fixture(params=["here", "server"])
async def host(
    request: pytest.FixtureRequest, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Host]:
    kind: Literal["here", "server"] = request.param
    if kind == "here":
        async with open_core(Settings()) as core:
            yield LocalHost(core, "ann")
        return
    monkeypatch.setenv("DATAAGENT_API_KEY", "k1")
    async with connected(server_url) as opened:
        yield opened


@asynccontextmanager
async def connected(url: str, *, key_from: str | None = None) -> AsyncGenerator[Host]:
    """The server as a host, once it has started."""
    async with DataAgentClient(url, "k1", backoff=PATIENT) as client:
        await client.health()
    async with open_server(url, key_from=key_from) as opened:
        yield opened


class ConversationDriver:
    """A conversation with recorded streams."""

    def __init__(
        self, host: Host, *, rules: TurnRules | None = None, is_auto: bool = False
    ) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.state = SessionState(auto_approve=is_auto)
        self.view = PlainRenderer(self.out, self.err)
        handler = TerminalHITLHandler(self.state, is_interactive=False)
        turns = TurnRunner(host, view=self.view, handler=handler, state=self.state, rules=rules)
        self.talk = Conversation(host, turns, agent=None, state=self.state)


async def test_messages_are_answered_and_found_again(host: Host) -> None:
    driver = ConversationDriver(host)
    assert (await driver.talk.ask("!echo one")).exit_code == exit_codes.OK
    assert (await driver.talk.ask("!echo two")).exit_code == exit_codes.OK
    assert driver.out.getvalue() == "one\ntwo\n"
    again = ConversationDriver(host)
    assert await again.talk.resume_latest()
    assert again.talk.session_id == driver.talk.session_id
    await show_resumed(again.talk, again.view)
    assert again.out.getvalue() == "one\ntwo\n"
    assert "❯ !echo one" in again.err.getvalue()
    assert again.talk.last_message == "!echo two"
    assert (await again.talk.usage())["input_tokens"] > 0


async def test_calls_are_approved_and_rejected(host: Host) -> None:
    refused = await ConversationDriver(host).talk.ask(WRITE)
    assert refused.done.reason == "rejected"
    assert refused.exit_code == exit_codes.CANCELLED
    driver = ConversationDriver(host, is_auto=True)
    assert (await driver.talk.ask(WRITE)).exit_code == exit_codes.OK
    assert "written" in driver.out.getvalue()


async def test_rules_of_the_command_line_hold(host: Host) -> None:
    driver = ConversationDriver(host, rules=TurnRules(deny=("write_*",)), is_auto=True)
    await driver.talk.ask(WRITE)
    assert "denied" in driver.err.getvalue()
    planning = ConversationDriver(host, is_auto=True)
    planning.state.switch("plan")
    await planning.talk.ask(WRITE)
    assert "edit" not in planning.err.getvalue()
    assert "plan mode" in planning.err.getvalue().lower()


async def test_a_run_is_stopped_and_a_busy_session_says_so(host: Host) -> None:
    driver = ConversationDriver(host)
    await driver.talk.ask("!echo begin")
    session_id = driver.talk.require_session_id()
    started = await host.start(session_id, "!slow 2000 20", agent="agent", options=RunOptions())
    async for entry in host.read(started.run.run_id, after=started.after):
        if entry.event_type == "text":
            break
    assert (await host.active(session_id)) is not None
    with pytest.raises(SessionBusy):
        await driver.talk.ask("!echo too early")
    with pytest.raises(SessionBusy):
        await driver.talk.compact("")
    await host.cancel(started.run.run_id)
    assert await host.active(session_id) is None
    items = (await host.history(session_id, limit=2)).items
    assert items[-1].message.status == "cancelled"


async def test_it_is_renamed_and_put_in_short(host: Host) -> None:
    driver = ConversationDriver(host)
    for number in range(3):
        await driver.talk.ask(f"!echo answer {number}")
    assert await driver.talk.rename("  Short   one ") == "Short one"
    assert (await host.recent(limit=1))[0].title == "Short one"
    assert (await driver.talk.compact("numbers")).exit_code == exit_codes.OK
    assert "4 earlier messages are summarised" in driver.out.getvalue()
    assert (await driver.talk.history()).total == 8


async def test_what_there_is(host: Host) -> None:
    names = [each.name for each in await host.agents()]
    assert {"general", "sql", "research"} <= set(names)
    assert "write_file" in [each.name for each in await host.tools("agent")]
    sql = [each.name for each in await host.tools("sql")]
    assert "sql_db_query" in sql
    assert "write_file" not in sql or len(sql) < len(await host.tools("agent"))
    assert "sql-review" in [each.name for each in (await host.skills("agent")).known]
    assert await host.model() == "scripted"


async def test_refusals_are_the_same(host: Host) -> None:
    with pytest.raises(SessionNotFound):
        await ConversationDriver(host).talk.resume("no-such-session")
    with pytest.raises(SkillNotFound):
        await ConversationDriver(host).talk.ask("/no-such-skill do it")
    with pytest.raises(BadInput):
        await ConversationDriver(host).talk.compact("")


async def test_what_needs_this_process_says_so(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_KEY", "k1")
    async with connected(server_url, key_from="OWN_KEY") as host:
        assert host.address == server_url
        for asked in (
            host.check_model("offline"),
            host.context_use(None, agent="agent", model=None),
            host.last_changes("x"),
            host.take_back("x"),
        ):
            with pytest.raises(UnsupportedOnServer, match="not available with a server"):
                await asked


async def test_a_wrong_key_and_a_wrong_address_are_told(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected_with(server_url, "k1", monkeypatch):
        pass
    monkeypatch.setenv("DATAAGENT_API_KEY", "wrong")
    with pytest.raises(NotAuthenticated):
        async with open_server(server_url):
            pass
    with pytest.raises(Unavailable):
        async with open_server(f"http://127.0.0.1:{free_port()}"):
            pass
    with pytest.raises(BadInput, match="NOWHERE is not set"):
        async with open_server(server_url, key_from="NOWHERE"):
            pass


@asynccontextmanager
async def connected_with(
    url: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Host]:
    monkeypatch.setenv("DATAAGENT_API_KEY", key)
    async with connected(url) as opened:
        yield opened


async def test_a_fresh_uuid_begins_a_session(host: Host, tmp_path: Path) -> None:
    del tmp_path
    wanted = "0a6f2c58-6c0f-4d57-9d39-6f1f1a9b7c10"
    driver = ConversationDriver(host)
    await driver.talk.resume(wanted)
    await driver.talk.ask("!echo one")
    assert wanted in [each.session_id for each in await host.recent(limit=5)]
