"""Sessions for a program that builds on the core: no server, nothing wired by hand."""

from __future__ import annotations

from collections.abc import Generator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.config import Settings
from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory
from dataagent_core.engine import graph as lg
from dataagent_core.errors import BadInput, Misconfigured, SessionDeleted, SessionNotFound
from dataagent_core.events import AnyEvent, DoneEvent, TextEvent
from dataagent_core.models import factory as models
from dataagent_core.session import (
    MemoryMessageStore,
    MemorySessionStore,
    Message,
    MessageStore,
    Role,
    Session,
    SessionManager,
    SessionStore,
    SessionStoreFactory,
    now,
)
from dataagent_core.workspace import UserWorkspaceManager
from tests.requirements import requirement
from tests.services import store_options

CONFIG = AgentConfig("agent", model="scripted")


class OwnSessionStore(SessionStore):
    """A store of somebody else's: what the requirements ask for, and nothing more."""

    def __init__(self) -> None:
        self.kept: dict[str, Session] = {}

    async def create(self, user_id: str, assistant_id: str) -> Session:
        session = Session(f"own-{len(self.kept)}", user_id, assistant_id)
        self.kept[session.session_id] = session
        return session

    async def get(self, session_id: str) -> Session | None:
        return self.kept.get(session_id)

    async def update(self, session: Session) -> None:
        self.kept[session.session_id] = session

    async def delete(self, session_id: str) -> None:
        self.kept.pop(session_id, None)

    async def list_by_user(self, user_id: str) -> list[Session]:
        return [each for each in self.kept.values() if each.user_id == user_id]

    async def list_by_assistant(self, assistant_id: str) -> list[Session]:
        return [each for each in self.kept.values() if each.assistant_id == assistant_id]

    async def cleanup_expired(self, timeout_seconds: float) -> int:
        oldest = now() - timedelta(seconds=timeout_seconds)
        old = [each.session_id for each in self.kept.values() if each.last_active < oldest]
        for session_id in old:
            del self.kept[session_id]
        return len(old)


class OwnMessageStore(MessageStore):
    """The same for messages."""

    def __init__(self) -> None:
        self.kept: list[Message] = []

    async def save_message(
        self, session_id: str, role: Role, content: str, metadata: dict[str, object] | None = None
    ) -> str:
        message = Message(f"m{len(self.kept)}", session_id, role, content, metadata=metadata or {})
        self.kept.append(message)
        return message.message_id

    async def get_messages(
        self, session_id: str, limit: int = 100, offset: int = 0
    ) -> list[Message]:
        own = [each for each in self.kept if each.session_id == session_id]
        return own[offset : offset + limit]

    async def delete_messages(self, session_id: str) -> int:
        before = len(self.kept)
        self.kept = [each for each in self.kept if each.session_id != session_id]
        return before - len(self.kept)


@pytest.fixture
def factory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[AgentFactory]:
    monkeypatch.setattr(models, "TEXT_WINDOW_SECONDS", 0)
    settings = Settings(home=tmp_path / "home", model="scripted")
    workspaces = UserWorkspaceManager(settings.workspaces_dir, settings.workspace_quota)
    yield AgentFactory(settings, workspaces)
    workspaces.close()


async def said(executor: AgentExecutor, question: str, session_id: str) -> str:
    """What the agent answers."""
    events: list[AnyEvent] = [event async for event in executor.execute(question, session_id)]
    assert isinstance(events[-1], DoneEvent)
    return "".join(event.content for event in events if isinstance(event, TextEvent))


# -- any store ------------------------------------------------------------------------------------


@requirement("R13.2", "R13.3")
@pytest.mark.parametrize("store_class", [MemorySessionStore, OwnSessionStore])
async def test_manager_needs_a_store_and_nothing_else(store_class: type[SessionStore]) -> None:
    manager = SessionManager(store_class())

    made = await manager.get_or_create_session("anna", "agent")
    again = await manager.get_or_create_session("anna", "agent", made.session_id)

    assert (made.user_id, made.assistant_id) == ("anna", "agent")
    assert again == made
    with pytest.raises(SessionNotFound):
        await manager.get_or_create_session("bert", "agent", made.session_id)
    await manager.close()


@requirement("R13.2")
async def test_store_of_somebody_else_serves_what_it_can(factory: AgentFactory) -> None:
    messages = OwnMessageStore()
    manager = SessionManager(OwnSessionStore(), messages, factory=factory)
    first = await manager.create("anna", "agent", title="Sales", metadata={"team": 7})
    second = await manager.get_or_create_session("anna", "agent", "an id of mine")
    assert (first.title, first.metadata) == ("Sales", {"team": 7})
    assert second.session_id == "own-1"  # such a store gives ids of its own
    for number in range(3):
        await messages.save_message(first.session_id, "user", f"Question {number}")

    assert await manager.list(owner="anna") == ([first, second], 2)
    assert await manager.list(owner="anna", limit=1, offset=1) == ([second], 2)
    assert await manager.list(owner="anna", search="QUESTION 2") == ([first], 1)
    page, total = await manager.messages(first.session_id, owner="anna", limit=2, offset=None)
    assert ([each.content for each in page], total) == (["Question 1", "Question 2"], 3)
    assert (await manager.rename(second.session_id, "Later", owner="anna")).title == "Later"
    executor = await manager.get_executor(first, CONFIG)
    assert await said(executor, "!echo hello", first.session_id) == "hello"

    await manager.delete(first.session_id, owner="anna")

    assert messages.kept == []
    assert await manager.list(owner="anna") == ([second], 1)
    assert manager.live_sessions == 0


async def test_what_takes_more_of_a_store_says_so() -> None:
    manager = SessionManager(OwnSessionStore())
    session = await manager.get_or_create_session("anna", "agent")

    for attempt in (
        manager.soft_delete(session.session_id, owner="anna"),
        manager.restore(session.session_id, owner="anna"),
        manager.get_by_thread(session.thread_id, owner="anna"),
    ):
        with pytest.raises(Misconfigured, match=r"OwnSessionStore .*ConversationStore"):
            await attempt


# -- ids ------------------------------------------------------------------------------------------


@requirement("R13.3")
@given(
    session_id=st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=64
    )
)
async def test_any_id_is_a_session_in_a_program_of_ones_own(session_id: str) -> None:
    manager = SessionManager(MemorySessionStore())

    made = await manager.get_or_create_session("anna", "agent", session_id)

    assert made.session_id == session_id
    assert await manager.get_or_create_session("anna", "agent", session_id) == made


@pytest.mark.parametrize("session_id", ["", "x" * 65, "nul \x00", "half \ud800 a pair"])
async def test_id_that_no_store_can_keep_is_refused(session_id: str) -> None:
    manager = SessionManager(MemorySessionStore())
    with pytest.raises(BadInput, match="1 to 64 characters"):
        await manager.get_or_create_session("anna", "agent", session_id)


async def test_deleted_id_is_not_used_again() -> None:
    manager = SessionManager(MemorySessionStore())
    await manager.get_or_create_session("anna", "agent", "mine")
    await manager.delete("mine", owner="anna")
    with pytest.raises(SessionDeleted):
        await manager.get_or_create_session("anna", "agent", "mine")


# -- messages -------------------------------------------------------------------------------------


async def test_messages_of_the_store_are_those_of_the_manager() -> None:
    store = MemorySessionStore()
    manager = SessionManager(store)
    session = await manager.get_or_create_session("anna", "agent")
    await store.messages.save_message(session.session_id, "user", "How many?")

    [message], total = await manager.messages(session.session_id, owner="anna")

    assert (message.content, total) == ("How many?", 1)


async def test_messages_kept_apart_go_with_their_session() -> None:
    messages = MemoryMessageStore()
    manager = SessionManager(MemorySessionStore(), messages)
    session = await manager.get_or_create_session("anna", "agent")
    await messages.save_message(session.session_id, "user", "How many?")

    await manager.delete(session.session_id, owner="anna")

    assert await messages.count_messages(session.session_id) == 0


# -- executors ------------------------------------------------------------------------------------


@requirement("R13.3")
async def test_executor_is_kept_while_its_session_is_in_use(factory: AgentFactory) -> None:
    manager = SessionManager(MemorySessionStore(), factory=factory)
    session = await manager.get_or_create_session("anna", "agent")
    executor = await manager.get_executor(session, CONFIG)

    assert await said(executor, "!echo one", session.session_id) == "one"
    assert await manager.get_executor(session, CONFIG) is executor
    assert await said(executor, "!echo two", session.session_id) == "two"


@requirement("R13.4", "P21")
async def test_idle_sessions_are_freed_by_the_manager_itself(factory: AgentFactory) -> None:
    freed: list[str] = []
    manager = SessionManager(
        MemorySessionStore(), factory=factory, timeout_seconds=0, on_idle=freed.append
    )
    first = await manager.get_or_create_session("anna", "agent")
    second = await manager.get_or_create_session("bert", "agent")
    await manager.get_executor(first, CONFIG)

    await manager.get_executor(second, CONFIG)

    assert freed == [first.session_id]
    assert manager.live_sessions == 1
    await manager.close()
    assert manager.live_sessions == 0


@requirement("R13.4")
@pytest.mark.parametrize("store_class", [MemorySessionStore, OwnSessionStore])
async def test_session_whose_executor_is_asked_for_is_active(
    store_class: type[SessionStore], factory: AgentFactory
) -> None:
    store = store_class()
    manager = SessionManager(store, factory=factory)
    session = await manager.get_or_create_session("anna", "agent")
    session.last_active = now() - timedelta(hours=2)
    await store.update(session)

    await manager.get_executor(session, CONFIG)

    assert await store.cleanup_expired(3600) == 0
    kept = await store.get(session.session_id)
    assert kept is not None
    assert kept.last_active > now() - timedelta(hours=1)


@requirement("R13.5", "R25.7")
@pytest.mark.parametrize("kind", ["sqlite", "mysql", "postgres"])
async def test_session_goes_on_after_a_restart_where_its_store_lasts(
    kind: str, factory: AgentFactory, tmp_path: Path
) -> None:
    lengths: list[int] = []
    with store_options(kind, tmp_path) as options:
        for _ in range(2):
            async with (
                SessionStoreFactory.create(kind, **options) as store,
                SessionManager(store, factory=factory) as manager,
            ):
                session = await manager.get_or_create_session("anna", "agent", "mine")
                executor = await manager.get_executor(session, CONFIG)
                assert await said(executor, "!echo hello", session.session_id) == "hello"
                turn = executor._turn(session.session_id, None, None)
                lengths.append(len((await lg.snapshot(turn.graph, turn.config)).messages))
    assert lengths == [2, 4]
