"""The chat tab: one conversation, its turns, and the answer that is under way.

The answer is read by a `Reader` while a fragment draws what is known of it, several times a second;
so stop, approvals and the other tab work at every moment. The conversation's id stands in the
page's address: who loads the page again finds it as it is. Above: `app.py`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import streamlit as st

from dataagent_client import ClientError, ConflictError, Decision
from dataagent_server_demo.answer import draw_problem, draw_turn
from dataagent_server_demo.connection import Server
from dataagent_server_demo.conversation import ApprovalPart, Turn, decided, from_history
from dataagent_server_demo.decisions import BadAnswer
from dataagent_server_demo.page_text import plain
from dataagent_server_demo.problems import Problem
from dataagent_server_demo.reader import Reader

_TICK_SECONDS = 0.3
_HISTORY = 200
_HEIGHT = 480
_TALK = "talk"
_PARAMETER = "conversation"


@dataclass(frozen=True, slots=True)
class Unsent:
    """A message the server did not take. Sent again under the same id it is one message."""

    question: str
    client_message_id: str
    problem: Problem


@dataclass(slots=True)
class Talk:
    """A conversation as this page knows it."""

    session_id: str
    turns: list[Turn] = field(default_factory=list[Turn])
    reader: Reader | None = None
    unsent: Unsent | None = None
    problem: Problem | None = None
    notice: Problem | str | None = None  # what came of the last thing pressed
    decided: set[str] = field(default_factory=set[str])

    def settle(self) -> None:
        """Put an answer that has ended with the others."""
        if self.reader is not None and not self.reader.turn.is_running:
            self.turns.append(self.reader.turn)
            self.reader = None


def draw_chat(server: Server) -> None:
    """The whole tab."""
    talk = _talk(server)
    talk.settle()
    with st.container(horizontal=True, horizontal_alignment="right"):
        st.button("新对话", key="new", icon=":material/add:", on_click=_begin)
    with st.container(height=_HEIGHT, border=False, autoscroll=True):
        if talk.problem is not None:
            draw_problem(talk.problem)
        if not talk.turns and talk.reader is None:
            st.caption("可以这样提问：2024年销售额最高的5个国家")
        for turn in talk.turns:
            draw_turn(server, turn)
        if talk.reader is not None:
            _draw_live(server, talk, talk.reader)
        if talk.unsent is not None:
            _draw_unsent(server, talk, talk.unsent)
    question = st.chat_input("就您的数据提问", key="ask", disabled=talk.reader is not None)
    if isinstance(question, str) and question.strip():
        _send(server, talk, question, str(uuid.uuid4()))
        st.rerun()


def _talk(server: Server) -> Talk:
    """The page's conversation: the one that is open, or the one its address names, or a new."""
    if _TALK not in st.session_state:
        named = st.query_params.get(_PARAMETER)
        st.session_state[_TALK] = _open(server, named) if named else Talk(str(uuid.uuid4()))
    return st.session_state[_TALK]


def _open(server: Server, session_id: str) -> Talk:
    talk = Talk(session_id)
    try:
        thread_id = server.client.session(session_id).thread_id
        history = server.client.conversations.history(thread_id, limit=_HISTORY)
    except ClientError as error:
        st.query_params.pop(_PARAMETER, None)
        return Talk(str(uuid.uuid4()), problem=server.explain(error))
    talk.turns = list(from_history(history))
    if talk.turns and talk.turns[-1].is_running:
        talk.reader = Reader(server.client, talk.turns.pop())
        talk.reader.start()
    return talk


def _begin() -> None:
    """Another conversation; what runs in this one goes on."""
    st.session_state[_TALK] = Talk(str(uuid.uuid4()))
    st.query_params.pop(_PARAMETER, None)


def _send(server: Server, talk: Talk, question: str, client_message_id: str) -> None:
    try:
        accepted = server.client.start(
            question, talk.session_id, client_message_id=client_message_id
        )
    except ClientError as error:
        talk.unsent = Unsent(question, client_message_id, server.explain(error))
        return
    talk.unsent = talk.problem = talk.notice = None
    st.query_params[_PARAMETER] = talk.session_id
    talk.reader = Reader(server.client, Turn(question, accepted.run_id))
    talk.reader.start()


def _draw_unsent(server: Server, talk: Talk, unsent: Unsent) -> None:
    with st.chat_message("user"):
        st.text(unsent.question)
    draw_problem(unsent.problem)
    if st.button("重新发送", key="send-again", icon=":material/refresh:"):
        _send(server, talk, unsent.question, unsent.client_message_id)
        st.rerun()


@st.fragment(run_every=_TICK_SECONDS)
def _draw_live(server: Server, talk: Talk, reader: Reader) -> None:
    """The answer under way, drawn again and again until it has ended."""
    is_reading = reader.is_reading
    turn = decided(reader.turn, talk.decided)

    draw_turn(server, turn, partial(_decide, server, talk, turn))
    match talk.notice:
        case Problem() as problem:
            draw_problem(problem)
        case str(text):
            st.warning(plain(text))
        case None:
            pass
    if is_reading:
        # a callback: this is drawn so often that a run of it may end before it comes to the button
        stop = (server, talk, turn)
        st.button("停止", key="stop", icon=":material/stop_circle:", on_click=_stop, args=stop)
    elif turn.is_running:
        _draw_lost(server, reader)
    else:
        st.rerun()


def _draw_lost(server: Server, reader: Reader) -> None:
    """The connection was lost for good: what was heard stays, and the rest can be asked for."""
    if reader.error is not None:
        draw_problem(server.explain(reader.error))
    st.caption("服务器仍在继续回答。")
    st.button("继续读取", key="read-on", icon=":material/refresh:", on_click=reader.start)


def _decide(
    server: Server,
    talk: Talk,
    turn: Turn,
    request: ApprovalPart,
    read: Callable[[], Decision],
) -> None:
    if turn.run_id is None:
        return
    talk.notice = None
    try:
        server.client.decide(turn.run_id, request.request_id, read())
    except BadAnswer as error:
        talk.notice = str(error)
        return
    except ConflictError:
        talk.notice = "这个调用已有决定。"
    except ClientError as error:
        talk.notice = server.explain(error)
        return
    talk.decided.add(request.request_id)


def _stop(server: Server, talk: Talk, turn: Turn) -> None:
    if turn.run_id is None:
        return
    try:
        server.client.cancel_run(turn.run_id)
    except ConflictError:  # it has ended by itself
        return
    except ClientError as error:
        talk.notice = server.explain(error)
