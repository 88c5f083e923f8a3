"""The client against the real server, in a process of its own, with the scripted model."""

from __future__ import annotations

import asyncio
import signal
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path

import pytest

from dataagent_client import (
    Backoff,
    ConflictError,
    DataAgentClient,
    NotAuthenticatedError,
    NotFoundError,
    Received,
)
from dataagent_protocol.events import DoneEvent, FileOperationEvent, HITLRequestEvent, TextEvent
from dataagent_protocol.hitl import Decision
from tests.end_to_end.server import free_port, run_server
from tests.programs import Program
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

PATIENT = Backoff(first_seconds=0.05, most_seconds=0.5, attempts=200)  # a start takes a while
WRITE = '!tool write_file {"file_path": "/note.txt", "content": "kept\\n"}\n!echo written'
Chat = Callable[..., AsyncGenerator[Received]]


class Server:
    """`dataagent-server` on a port of its own; can be killed and started again."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._process: Program | None = None
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings = {
            "DATAAGENT_HOME": str(self._home),
            "DATAAGENT_AGENTS_HOME": str(self._home / "agents"),
            "DATAAGENT_MODEL": "scripted",
            "DATAAGENT_API_KEYS": "alice:k1,bob:k2",
            "DATAAGENT_PORT": str(self.port),
        }
        self._process = run_server("serve", settings, self._home / "server.log")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(WAIT_SECONDS)
            self._process = None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("server"))
    made.start()
    yield made
    made.stop()


def connect(server: Server, api_key: str | None = "k1") -> DataAgentClient:
    return DataAgentClient(server.url, api_key, backoff=PATIENT)


@pytest.fixture
async def client(server: Server) -> AsyncGenerator[DataAgentClient]:
    async with asyncio.timeout(WAIT_SECONDS), connect(server) as made:
        await made.health()
        yield made


@pytest.fixture(params=["chat", "chat_sse"])
def chat(client: DataAgentClient, request: pytest.FixtureRequest) -> Chat:
    return getattr(client, request.param)


def text_of(items: list[Received]) -> str:
    return "".join(item.event.content for item in items if isinstance(item.event, TextEvent))


async def collect(events: AsyncGenerator[Received]) -> list[Received]:
    return [item async for item in events]


@pytest.mark.slow
@requirement("R22.3", "R22.4")
async def test_health_says_which_version_runs(client: DataAgentClient) -> None:
    health = await client.health()
    assert (health.status, health.version) == ("ok", "0.1.0")
    assert health.uptime > 0


@requirement("R17.1", "R17.5")
async def test_turns_of_one_session_stream_to_their_ends(
    client: DataAgentClient, chat: Chat
) -> None:
    first = await collect(chat("!echo one two"))
    session_id = (await client.run(first[0].run_id)).session_id
    second = await collect(chat("!echo three", session_id))
    assert (text_of(first), text_of(second)) == ("one two", "three")
    assert [item.seq for item in first + second] == list(range(1, len(first + second) + 1))
    for items in (first, second):
        assert [isinstance(item.event, DoneEvent) for item in items].count(True) == 1
        assert isinstance(items[-1].event, DoneEvent)
        assert len({item.run_id for item in items}) == 1
    messages = await client.messages(session_id)
    assert messages.total == 4
    assert [(m.role, m.content, m.status) for m in messages.items] == [
        ("user", "!echo one two", "complete"),
        ("assistant", "one two", "complete"),
        ("user", "!echo three", "complete"),
        ("assistant", "three", "complete"),
    ]


@requirement("R21.3")
async def test_a_question_can_be_answered_in_one_go(client: DataAgentClient) -> None:
    result = await client.chat_sync("!echo all at once")
    assert (result.status, result.text) == ("done", "all at once")
    again = await client.chat_sync("!echo and again", result.session_id)
    assert again.session_id == result.session_id
    replayed = await collect(client.run_events(again.run_id))
    assert replayed == list(again.events)
    after = await collect(client.run_events(again.run_id, after=again.events[0].seq))
    assert after == list(again.events[1:])


async def test_a_run_has_nothing_after_its_end(client: DataAgentClient) -> None:
    first = await client.chat_sync("!echo one")
    later = await client.chat_sync("!echo two", first.session_id)
    async with asyncio.timeout(WAIT_SECONDS):
        assert await collect(client.run_events(first.run_id, after=first.events[-1].seq)) == []
        assert await collect(client.run_events(first.run_id, after=later.events[-1].seq)) == []


@requirement("G15")
async def test_the_same_message_twice_is_one_run(client: DataAgentClient) -> None:
    session_id, message_id = str(uuid.uuid4()), str(uuid.uuid4())
    first = await client.chat_sync("!echo once", session_id, client_message_id=message_id)
    second = await client.chat_sync("!echo once", session_id, client_message_id=message_id)
    assert second == first
    assert (await client.messages(session_id)).total == 2


@requirement("G15")
async def test_a_message_sent_again_later_brings_its_whole_run(
    client: DataAgentClient, chat: Chat
) -> None:
    session_id, message_id = str(uuid.uuid4()), str(uuid.uuid4())
    first = await collect(chat("!echo once", session_id, client_message_id=message_id))
    await client.chat_sync("!echo meanwhile", session_id)
    async with asyncio.timeout(WAIT_SECONDS):
        again = await collect(chat("!echo once", session_id, client_message_id=message_id))
    assert again == first
    assert (await client.messages(session_id)).total == 4


@requirement("G15")
async def test_a_message_sent_again_meanwhile_brings_its_whole_run(
    client: DataAgentClient, chat: Chat
) -> None:
    session_id, message_id = str(uuid.uuid4()), str(uuid.uuid4())
    first = chat("!slow 400 20", session_id, client_message_id=message_id)
    seen = [await anext(first) for _ in range(2)]
    second = chat("!slow 400 20", session_id, client_message_id=message_id)
    async with asyncio.timeout(WAIT_SECONDS):
        assert [await anext(second) for _ in range(2)] == seen
    await client.cancel_run(seen[0].run_id)
    assert [item async for item in first] == [item async for item in second]


async def test_a_message_refused_over_rest_leaves_no_session(client: DataAgentClient) -> None:
    before = (await client.sessions()).total
    with pytest.raises(NotFoundError):
        await collect(client.chat_sse("hi", skill="none-of-that-name"))
    assert (await client.sessions()).total == before


@requirement("R24.3", "R24.4")
async def test_a_run_stops_when_told_to(client: DataAgentClient, chat: Chat) -> None:
    items: list[Received] = []
    session_id = ""
    async for item in chat("!slow 2000 20"):
        if not items:
            session_id = (await client.run(item.run_id)).session_id
            assert (await client.cancel(session_id)).run_id == item.run_id
        items.append(item)
    done = items[-1].event
    assert isinstance(done, DoneEvent)
    assert (done.cancelled, done.reason) == (True, "user_cancelled")
    with pytest.raises(NotFoundError) as refused:
        await client.cancel(session_id)
    assert refused.value.error_code == "nothing_to_cancel"


@requirement("G5")
async def test_leaving_a_stream_does_not_stop_the_run(client: DataAgentClient, chat: Chat) -> None:
    stream = chat("!slow 10 20")
    first = await anext(stream)
    await stream.aclose()
    rest = await collect(client.run_events(first.run_id, after=first.seq))
    assert rest[0].seq == first.seq + 1
    assert rest[-1].event.event_type == "done"
    assert (await client.run(first.run_id)).status == "done"


@requirement("R3.4", "R18.2")
@pytest.mark.parametrize(("answer", "reason"), [("approve", "completed"), ("reject", "rejected")])
async def test_approvals_are_asked_of_the_callback(chat: Chat, answer: str, reason: str) -> None:
    asked: list[str] = []

    async def decide(request: HITLRequestEvent) -> Decision:
        asked.append(request.action.name)
        return Decision.from_dict({"type": answer})

    items = await collect(chat(WRITE, on_approval=decide))
    done = items[-1].event
    assert isinstance(done, DoneEvent)
    assert (asked, done.reason) == (["write_file"], reason)
    wrote = any(isinstance(item.event, FileOperationEvent) for item in items)
    assert wrote == (answer == "approve")


async def test_a_run_that_waits_can_be_decided_later(client: DataAgentClient) -> None:
    waiting = await client.chat_sync(WRITE)
    assert waiting.status == "waiting"
    run = await client.run(waiting.run_id)
    assert [pending.action.name for pending in run.pending] == ["write_file"]
    request_id = run.pending[0].request_id
    await client.decide(run.run_id, request_id, Decision("approve"))
    await client.decide(run.run_id, request_id, Decision("approve"))
    rest = await collect(client.run_events(run.run_id, after=waiting.events[-1].seq))
    assert text_of(rest) == "written"
    with pytest.raises(ConflictError):
        await client.decide(run.run_id, request_id, Decision("reject"))


async def test_sessions_are_made_listed_and_deleted(client: DataAgentClient) -> None:
    made = await client.create_session(assistant_id="agent")
    assert made.user_id == "alice"
    assert await client.session(made.session_id) == made
    page = await client.sessions(limit=1)
    assert len(page.items) == 1
    assert page.total >= 1
    await client.delete_session(made.session_id)
    with pytest.raises(NotFoundError) as missing:
        await client.session(made.session_id)
    assert missing.value.error_code == "session_not_found"
    assert missing.value.request_id


async def test_what_is_not_yours_is_not_found(client: DataAgentClient, server: Server) -> None:
    mine = await client.chat_sync("!echo mine")
    async with connect(server, "k2") as bob:
        for attempt in (
            bob.session(mine.session_id),
            bob.run(mine.run_id),
            collect(bob.chat("hi", mine.session_id)),
            collect(bob.chat_sse("hi", mine.session_id)),
            bob.chat_sync("hi", mine.session_id),
        ):
            with pytest.raises(NotFoundError):
                await attempt


@requirement("R19.2", "R19.3")
@pytest.mark.parametrize("api_key", ["wrong", "K1"])
async def test_a_wrong_key_is_refused_at_every_door(
    client: DataAgentClient, server: Server, api_key: str
) -> None:
    del client
    async with connect(server, api_key) as stranger:
        for attempt in (
            stranger.sessions(),
            collect(stranger.chat("hi")),
            collect(stranger.chat_sse("hi")),
            stranger.chat_sync("hi"),
        ):
            with pytest.raises(NotAuthenticatedError):
                await attempt


@requirement("G7")
async def test_a_busy_session_refuses_a_second_message(client: DataAgentClient) -> None:
    stream = client.chat("!slow 2000 20")
    first = await anext(stream)
    session_id = (await client.run(first.run_id)).session_id
    for attempt in (
        collect(client.chat("hi", session_id)),
        collect(client.chat_sse("hi", session_id)),
        client.chat_sync("hi", session_id),
    ):
        with pytest.raises(ConflictError) as refused:
            await attempt
        assert refused.value.error_code == "session_busy"
    await client.cancel_run(first.run_id)
    await stream.aclose()


@requirement("G2", "G4")
@pytest.mark.parametrize("door", ["chat", "chat_sse"])
async def test_a_server_killed_in_mid_answer_loses_no_event_and_no_end(
    tmp_path: Path, door: str
) -> None:
    server = Server(tmp_path / "server")
    server.start()
    items: list[Received] = []
    try:
        async with asyncio.timeout(WAIT_SECONDS), connect(server) as client:
            await client.health()
            chat: Chat = getattr(client, door)
            async for item in chat("!slow 100 20"):
                items.append(item)
                if len(items) == 3:
                    server.stop(signal.SIGKILL)
                    server.start()
            kept = await collect(client.run_events(items[0].run_id))
    finally:
        server.stop()
    assert kept == items
    assert [isinstance(item.event, DoneEvent) for item in items].count(True) == 1
    assert [item.seq for item in items] == list(range(1, len(items) + 1))


async def test_a_message_is_started_read_and_found_in_the_history(client: DataAgentClient) -> None:
    session_id = str(uuid.uuid4())
    accepted = await client.start("!echo one", session_id, assistant_id="agent", deny=["sql_*"])
    assert accepted.session_id == session_id
    events = await collect(client.run_events(accepted.run_id))
    await client.conversations.rename(session_id, "Renamed")
    session = await client.session(session_id)
    assert session.title == "Renamed"
    history = await client.conversations.history(session.thread_id)
    assert [each.message.content for each in history.messages] == ["!echo one", "one"]
    assert list(history.messages[1].events) == events
    assert history.last_seq == events[-1].seq
    short = await client.compact(session_id, keep="one")
    said = [item.event for item in await collect(client.run_events(short.run_id))]
    assert isinstance(said[0], TextEvent)
    assert said[0].content.startswith("There is nothing to summarise")


async def test_what_a_server_offers_is_told(client: DataAgentClient) -> None:
    agents = (await client.agents()).items
    sql = next(each for each in agents if each.name == "sql")
    tools = {each.tool_id: each.name for each in (await client.tools()).items}
    assert "sql_db_query" in {tools[number] for number in sql.tool_ids}
    assert "sql-review" in {each.name for each in (await client.skills.list("agent")).items}
    assert (await client.info()).model == "scripted"
    await client.chat_sync("!echo counted")
    assert (await client.usage()).items[0].input_tokens > 0
