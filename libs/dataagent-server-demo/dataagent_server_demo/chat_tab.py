"""The chat tab: one conversation, its turns, and the answer that is running.

`RunFollower` reads the answer in a thread, while a fragment draws it several times a second; so
stop, approvals and the other tab work at any time. The conversation's id is in the page's address,
so that a reload finds it.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import streamlit as st

from dataagent_client import ClientError, ConflictError, Decision, SyncDataAgentClient
from dataagent_server_demo.answer import draw_problem, draw_turn
from dataagent_server_demo.connection import Server
from dataagent_server_demo.conversation import (
    ApprovalPart,
    BadAnswer,
    Turn,
    fold,
    from_history,
    mark_decided,
)
from dataagent_server_demo.page_text import Problem, escape_markdown


class RunFollower:
    """What is known of a running turn, event by event."""

    def __init__(self, client: SyncDataAgentClient, turn: Turn) -> None:
        self._client = client
        self._thread: threading.Thread | None = None
        self.turn = turn
        self.error: ClientError | None = None

    @property
    def is_reading(self) -> bool:
        """Whether more may come."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin, or go on after a failure."""
        if self.is_reading or self.turn.run_id is None or not self.turn.is_running:
            return
        self.error = None
        self._thread = threading.Thread(
            target=self._follow, args=(self.turn.run_id,), name="dataagent-demo", daemon=True
        )
        self._thread.start()

    def _follow(self, run_id: str) -> None:
        try:
            for item in self._client.run_events(run_id, after=self.turn.last_seq):
                self.turn = fold(self.turn, item)
        except ClientError as error:
            self.error = error


_TICK_SECONDS = 0.3
_HISTORY = 200
_HEIGHT = 480
_CHAT_STATE = "talk"
_PARAMETER = "conversation"


@dataclass(frozen=True, slots=True)
class UnsentMessage:
    """A message the server did not take. Sent again under the same id it is one message."""

    question: str
    client_message_id: str
    problem: Problem


@dataclass(slots=True)
class ChatState:
    """A conversation as this page knows it."""

    session_id: str
    turns: list[Turn] = field(default_factory=list[Turn])
    follower: RunFollower | None = None
    unsent: UnsentMessage | None = None
    problem: Problem | None = None
    notice: Problem | str | None = None  # what came of the last thing pressed
    decided: set[str] = field(default_factory=set[str])

    def settle(self) -> None:
        """Put an answer that has ended with the others."""
        if self.follower is not None and not self.follower.turn.is_running:
            self.turns.append(self.follower.turn)
            self.follower = None


def draw_chat(server: Server) -> None:
    """The whole tab."""
    state = _chat_state(server)
    state.settle()
    with st.container(horizontal=True, horizontal_alignment="right"):
        st.button("新对话", key="new", icon=":material/add:", on_click=_begin)
    with st.container(height=_HEIGHT, border=False, autoscroll=True):
        if state.problem is not None:
            draw_problem(state.problem)
        if not state.turns and state.follower is None:
            st.caption("可以这样提问：2024年销售额最高的5个国家")
        for turn in state.turns:
            draw_turn(server, turn)
        if state.follower is not None:
            _draw_live(server, state, state.follower)
        if state.unsent is not None:
            _draw_unsent(server, state, state.unsent)
    question = st.chat_input("就您的数据提问", key="ask", disabled=state.follower is not None)
    if isinstance(question, str) and question.strip():
        _send(server, state, question, str(uuid.uuid4()))
        st.rerun()


def _chat_state(server: Server) -> ChatState:
    """The page's conversation: the one that is open, or the one its address names, or a new."""
    if _CHAT_STATE not in st.session_state:
        named = st.query_params.get(_PARAMETER)
        st.session_state[_CHAT_STATE] = (
            _open(server, named) if named else ChatState(str(uuid.uuid4()))
        )
    return st.session_state[_CHAT_STATE]


def _open(server: Server, session_id: str) -> ChatState:
    state = ChatState(session_id)
    try:
        thread_id = server.client.session(session_id).thread_id
        history = server.client.conversations.history(thread_id, limit=_HISTORY)
    except ClientError as error:
        st.query_params.pop(_PARAMETER, None)
        return ChatState(str(uuid.uuid4()), problem=server.explain(error))
    state.turns = list(from_history(history))
    if state.turns and state.turns[-1].is_running:
        state.follower = RunFollower(server.client, state.turns.pop())
        state.follower.start()
    return state


def _begin() -> None:
    """Start another conversation; a run of this one continues."""
    st.session_state[_CHAT_STATE] = ChatState(str(uuid.uuid4()))
    st.query_params.pop(_PARAMETER, None)


def _send(server: Server, state: ChatState, question: str, client_message_id: str) -> None:
    try:
        accepted = server.client.start(
            question, state.session_id, client_message_id=client_message_id
        )
    except ClientError as error:
        state.unsent = UnsentMessage(question, client_message_id, server.explain(error))
        return
    state.unsent = state.problem = state.notice = None
    st.query_params[_PARAMETER] = state.session_id
    state.follower = RunFollower(server.client, Turn(question, accepted.run_id))
    state.follower.start()


def _draw_unsent(server: Server, state: ChatState, unsent: UnsentMessage) -> None:
    with st.chat_message("user"):
        st.text(unsent.question)
    draw_problem(unsent.problem)
    if st.button("重新发送", key="send-again", icon=":material/refresh:"):
        _send(server, state, unsent.question, unsent.client_message_id)
        st.rerun()


@st.fragment(run_every=_TICK_SECONDS)
def _draw_live(server: Server, state: ChatState, follower: RunFollower) -> None:
    """The answer under way, drawn again and again until it has ended."""
    is_reading = follower.is_reading
    turn = mark_decided(follower.turn, state.decided)

    draw_turn(server, turn, partial(_decide, server, state, turn))
    match state.notice:
        case Problem() as problem:
            draw_problem(problem)
        case str(text):
            st.warning(escape_markdown(text))
        case None:
            pass
    if is_reading:
        # a callback: this is drawn so often that a run of it may end before it comes to the button
        stop = (server, state, turn)
        st.button("停止", key="stop", icon=":material/stop_circle:", on_click=_stop, args=stop)
    elif turn.is_running:
        _draw_lost(server, follower)
    else:
        st.rerun()


def _draw_lost(server: Server, follower: RunFollower) -> None:
    """The connection is lost: show what was received, and offer to fetch the rest."""
    if follower.error is not None:
        draw_problem(server.explain(follower.error))
    st.caption("服务器仍在继续回答。")
    st.button("继续读取", key="read-on", icon=":material/refresh:", on_click=follower.start)


def _decide(
    server: Server,
    state: ChatState,
    turn: Turn,
    request: ApprovalPart,
    read: Callable[[], Decision],
) -> None:
    if turn.run_id is None:
        return
    state.notice = None
    try:
        server.client.decide(turn.run_id, request.request_id, read())
    except BadAnswer as error:
        state.notice = str(error)
        return
    except ConflictError:
        state.notice = "这个调用已有决定。"
    except ClientError as error:
        state.notice = server.explain(error)
        return
    state.decided.add(request.request_id)


def _stop(server: Server, state: ChatState, turn: Turn) -> None:
    if turn.run_id is None:
        return
    try:
        server.client.cancel_run(turn.run_id)
    except ConflictError:  # it has ended by itself
        return
    except ClientError as error:
        state.notice = server.explain(error)
