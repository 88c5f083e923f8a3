"""What was said in a conversation, with what was seen of it live."""

from __future__ import annotations

from typing import Any

import orjson

from dataagent_core.runs.history import History, HistoryItem
from dataagent_server.models.chat import ApprovalInfo
from dataagent_server.models.fields import ResponseModel
from dataagent_server.models.session import MessageInfo


class HistoryMessage(MessageInfo):
    """A message; an answer has its run's events, in wire form, and the approvals with decisions."""

    approvals: list[ApprovalInfo]
    events: list[dict[str, Any]]


class ThreadHistory(ResponseModel):
    """A page of a conversation's messages. Events after `last_seq` are still to come."""

    thread_id: str
    messages: list[HistoryMessage]
    total: int
    last_seq: int


def history_json(thread_id: str, history: History) -> bytes:
    """A `ThreadHistory` around events that are JSON already."""
    messages = b",".join(map(_message_json, history.items))
    rest = orjson.dumps({"total": history.total, "last_seq": history.last_seq})
    head = orjson.dumps({"thread_id": thread_id})
    return b'%s,"messages":[%s],%s' % (head[:-1], messages, rest[1:])


def _message_json(item: HistoryItem) -> bytes:
    head = MessageInfo.of(item.message).model_dump_json().encode()
    approvals = ",".join(ApprovalInfo.of(each).model_dump_json() for each in item.approvals)
    events = b",".join(entry.wire for entry in item.entries)
    return b'%s,"approvals":[%s],"events":[%s]}' % (head[:-1], approvals.encode(), events)
