"""`/api/conversations`: sessions with a title, as the web app lists them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from dataagent_server.api.deps import CurrentUser, RunsDep, SessionsDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.deps.chat import DEFAULT_ASSISTANT
from dataagent_server.models.fields import Limit, Offset, Page, PathId, SafeText
from dataagent_server.models.sessions import (
    ConversationCreate,
    ConversationInfo,
    ConversationUpdate,
)

router = APIRouter(prefix="/conversations", tags=["conversations"], route_class=PrivateRoute)
Search = Annotated[
    SafeText | None, Query(max_length=200, description="Text in a title or in a message.")
]


@router.get("", operation_id="list_conversations")
async def list_conversations(
    user: CurrentUser,
    sessions: SessionsDep,
    limit: Limit = 1000,
    offset: Offset = 0,
    search: Search = None,
) -> Page[ConversationInfo]:
    """The caller's conversations, the last active first."""
    found, total = await sessions.list(
        owner=user.user_id, limit=limit, offset=offset, search=search
    )
    return Page[ConversationInfo](items=[ConversationInfo.of(each) for each in found], total=total)


@router.post("", operation_id="create_conversation", status_code=201)
async def create_conversation(
    body: ConversationCreate, user: CurrentUser, sessions: SessionsDep
) -> ConversationInfo:
    """Create a conversation. Without a title it gets one from its first message."""
    made = await sessions.create(user.user_id, DEFAULT_ASSISTANT, title=body.title)
    return ConversationInfo.of(made)


@router.get("/{conversation_id}", operation_id="get_conversation")
async def get_conversation(
    conversation_id: PathId, user: CurrentUser, sessions: SessionsDep
) -> ConversationInfo:
    """One of the caller's conversations."""
    return ConversationInfo.of(await sessions.get(conversation_id, owner=user.user_id))


@router.patch("/{conversation_id}", operation_id="rename_conversation")
async def rename_conversation(
    conversation_id: PathId, body: ConversationUpdate, user: CurrentUser, sessions: SessionsDep
) -> ConversationInfo:
    """Rename one of the caller's conversations."""
    renamed = await sessions.rename(conversation_id, body.title, owner=user.user_id)
    return ConversationInfo.of(renamed)


@router.delete("/{conversation_id}", operation_id="delete_conversation", status_code=204)
async def delete_conversation(conversation_id: PathId, user: CurrentUser, runs: RunsDep) -> None:
    """Delete one of the caller's conversations and cancel its run. `restore` undoes it.

    After `DATAAGENT_DELETED_RETENTION_DAYS` it is deleted permanently.
    """
    await runs.soft_delete(conversation_id, owner=user.user_id)


@router.post("/{conversation_id}/restore", operation_id="restore_conversation")
async def restore_conversation(
    conversation_id: PathId, user: CurrentUser, sessions: SessionsDep
) -> ConversationInfo:
    """Restore a conversation the caller has deleted."""
    return ConversationInfo.of(await sessions.restore(conversation_id, owner=user.user_id))
