"""The sync client against the real server: the same answers, from any thread, without `await`."""

from __future__ import annotations

import asyncio
import gc
import shutil
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from dataagent_client import (
    ClientError,
    Decision,
    DoneEvent,
    FileOperationEvent,
    HITLRequestEvent,
    NotAuthenticatedError,
    NotFoundError,
    Received,
    SyncDataAgentClient,
    TextEvent,
)
from scripts import sync_client
from tests.end_to_end.server import KEY, USER, Server
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

WRITE = '!tool write_file {"file_path": "/note.txt", "content": "kept\\n"}\n!echo written'
Chat = Callable[..., Generator[Received]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    made = Server(Path(tmp_path_factory.mktemp("server")))
    asyncio.run(made.start())
    yield made
    asyncio.run(made.signal())


@pytest.fixture
def client(server: Server) -> Generator[SyncDataAgentClient]:
    with SyncDataAgentClient(server.url, KEY) as made:
        yield made


@pytest.fixture(params=["chat", "chat_sse"])
def chat(client: SyncDataAgentClient, request: pytest.FixtureRequest) -> Chat:
    return getattr(client, request.param)


def text_of(items: list[Received]) -> str:
    return "".join(item.event.content for item in items if isinstance(item.event, TextEvent))


def connections(server: Server) -> int:
    """How many connections to the server this process holds."""
    found = [each for each in psutil.Process().net_connections("tcp4") if each.raddr]
    return [(each.status, each.raddr.port) for each in found].count(("ESTABLISHED", server.port))


@requirement("R17.1", "R17.5")
def test_turns_of_one_session_are_read_to_their_ends(
    client: SyncDataAgentClient, chat: Chat
) -> None:
    first = list(chat("!echo one two"))
    session_id = client.run(first[0].run_id).session_id
    second = list(chat("!echo three", session_id))
    assert (text_of(first), text_of(second)) == ("one two", "three")
    assert [item.seq for item in first + second] == list(range(1, len(first + second) + 1))
    assert all(isinstance(items[-1].event, DoneEvent) for items in (first, second))
    assert list(client.run_events(second[0].run_id)) == second
    assert list(client.run_events(second[0].run_id, after=second[-1].seq)) == []
    assert client.messages(session_id).total == 4


@requirement("R3.4", "R18.2")
@pytest.mark.parametrize(("answer", "reason"), [("approve", "completed"), ("reject", "rejected")])
def test_approvals_are_asked_in_the_readers_thread(chat: Chat, answer: str, reason: str) -> None:
    asked: list[tuple[str, threading.Thread]] = []

    def decide(request: HITLRequestEvent) -> Decision:
        asked.append((request.action.name, threading.current_thread()))
        return Decision.from_dict({"type": answer})

    items = list(chat(WRITE, on_approval=decide))
    done = items[-1].event
    assert isinstance(done, DoneEvent)
    assert asked == [("write_file", threading.current_thread())]
    assert done.reason == reason
    wrote = any(isinstance(item.event, FileOperationEvent) for item in items)
    assert wrote == (answer == "approve")


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_what_the_callback_raises_ends_the_loop(
    client: SyncDataAgentClient, server: Server, kind: type[BaseException]
) -> None:
    def decide(request: HITLRequestEvent) -> Decision:
        raise kind(request.action.name)

    with pytest.raises(kind, match="write_file"):
        list(client.chat(WRITE, on_approval=decide))
    assert connections(server) == 0
    session = client.sessions(limit=1).items[0]
    assert client.cancel(session.session_id).session_id == session.session_id  # it still waited


@requirement("G5")
@pytest.mark.parametrize("how", ["close", "break", "forget"])
def test_leaving_closes_the_connection_and_not_the_run(
    client: SyncDataAgentClient, server: Server, how: str
) -> None:
    events = client.chat("!slow 200 20")
    first = next(events)
    assert connections(server) == 1
    if how == "break":
        for _ in events:
            break
    if how != "close":
        del events
        gc.collect()
    else:
        events.close()
    assert connections(server) == 0
    assert client.run(first.run_id).status == "running"
    client.cancel_run(first.run_id)
    last = list(client.run_events(first.run_id))[-1].event
    assert isinstance(last, DoneEvent)
    assert last.cancelled


def test_several_threads_share_one_client(client: SyncDataAgentClient) -> None:
    together = threading.Barrier(4, timeout=WAIT_SECONDS)

    def ask(number: int) -> str:
        items: list[Received] = []
        for item in client.chat(f"!echo I am {number}"):
            if not items:
                together.wait()  # all of them are in mid-answer
            items.append(item)
        return text_of(items)

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(4))) == [f"I am {number}" for number in range(4)]


async def test_it_works_inside_a_running_event_loop(server: Server) -> None:
    with SyncDataAgentClient(server.url, KEY) as client:
        assert client.health().status == "ok"
        assert text_of(list(client.chat("!echo inside"))) == "inside"


def test_closing_ends_whoever_still_reads(server: Server) -> None:
    client = SyncDataAgentClient(server.url, KEY)
    reading = threading.Event()

    def read() -> None:
        for _ in client.session_events(session_id):
            reading.set()

    session_id = client.chat_sync("!echo hello").session_id
    with ThreadPoolExecutor(1) as threads:
        reader = threads.submit(read)
        assert reading.wait(WAIT_SECONDS)
        client.close()
        with pytest.raises(ClientError, match="closed"):
            reader.result(WAIT_SECONDS)
    client.close()
    for attempt in (client.health, lambda: next(client.chat("hi"))):
        with pytest.raises(ClientError, match="closed"):
            attempt()
    assert connections(server) == 0
    assert not [each for each in threading.enumerate() if each.name == "dataagent-client"]


def test_errors_are_the_same_classes(client: SyncDataAgentClient, server: Server) -> None:
    with SyncDataAgentClient(server.url, "wrong") as stranger:
        with pytest.raises(NotAuthenticatedError):
            next(stranger.chat("hi"))
        with pytest.raises(NotAuthenticatedError):
            stranger.sessions()
    ended = client.chat_sync("!echo done")
    with pytest.raises(NotFoundError) as refused:
        client.cancel(ended.session_id)
    assert refused.value.error_code == "nothing_to_cancel"
    with pytest.raises(ClientError, match="no server address"):
        SyncDataAgentClient("nowhere")


def test_groups_are_there_too(client: SyncDataAgentClient) -> None:
    assert client.mcp.servers(USER).total == 0
    assert client.data.sources() == []


@pytest.mark.slow
def test_a_method_the_twin_lacks_fails_the_check_until_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "dataagent_client"
    shutil.copytree(sync_client.FOLDER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(sync_client, "FOLDER", copy)
    monkeypatch.setattr(sync_client, "ROOT", tmp_path)
    assert sync_client.main(["--check"]) == 0
    source = copy / "skills.py"
    method = '\n    async def count(self) -> int:\n        """How many."""\n        return 1\n'
    source.write_text(source.read_text(encoding="utf-8") + method, encoding="utf-8")
    (copy / "sync" / "gone.py").write_text("# of a module that is no more\n", encoding="utf-8")
    assert sync_client.main(["--check"]) == 1
    assert "make sync-client" in capsys.readouterr().out
    assert sync_client.main([]) == 0
    assert sync_client.main(["--check"]) == 0
    assert "def count(self) -> int:" in (copy / "sync" / "skills.py").read_text(encoding="utf-8")
    assert not (copy / "sync" / "gone.py").exists()
