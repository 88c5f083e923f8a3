"""`/api/v1/users/{user_id}/memory`: what assistants remember of a user."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from dataagent_server.api.deps import CurrentUser, MemoriesDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.models.fields import Name, Page, PathId, SafeText, check_same
from dataagent_server.models.files import MemoryBody, MemoryContent, MemoryInfo

router = APIRouter(prefix="/users", tags=["memory"], route_class=PrivateRoute)
AssistantId = Annotated[Name, Path()]
MemoryPath = Annotated[SafeText, Path(min_length=1, max_length=1024)]


@router.get("/{user_id}/memory", operation_id="list_memory")
async def list_memory(
    user_id: PathId, user: CurrentUser, memories: MemoriesDep
) -> Page[MemoryInfo]:
    """The caller's memories; any user's for administrators, without their text."""
    found = await memories.list(user_id, asked_by=user)
    return Page[MemoryInfo](items=[MemoryInfo.of(each) for each in found], total=len(found))


@router.delete("/{user_id}/memory", operation_id="erase_memory", status_code=204)
async def erase_memory(
    user_id: PathId,
    user: CurrentUser,
    memories: MemoriesDep,
    assistant_id: Annotated[Name | None, Query()] = None,
) -> None:
    """Erase the caller's memories, of all assistants or of one."""
    await memories.erase(user_id, asked_by=user, assistant_id=assistant_id)


@router.get("/{user_id}/memory/{assistant_id}/{path:path}", operation_id="read_memory")
async def read_memory(
    user_id: PathId,
    assistant_id: AssistantId,
    path: MemoryPath,
    user: CurrentUser,
    memories: MemoriesDep,
) -> MemoryContent:
    """The text of one of the caller's memories. No one else may read it."""
    content = await memories.read(user_id, assistant_id, path, asked_by=user)
    return MemoryContent(assistant_id=assistant_id, path=path, content=content)


@router.put(
    "/{user_id}/memory/{assistant_id}/{path:path}", operation_id="write_memory", status_code=204
)
async def write_memory(
    user_id: PathId,
    assistant_id: AssistantId,
    path: MemoryPath,
    *,
    body: MemoryBody,
    user: CurrentUser,
    memories: MemoriesDep,
) -> None:
    """Correct one of the caller's memories, or add one."""
    check_same("assistant_id", assistant_id, body.assistant_id)
    check_same("path", path, body.path)
    await memories.write(user_id, assistant_id, path, body.content, asked_by=user)


@router.delete(
    "/{user_id}/memory/{assistant_id}/{path:path}", operation_id="erase_one_memory", status_code=204
)
async def erase_one_memory(
    user_id: PathId,
    assistant_id: AssistantId,
    path: MemoryPath,
    user: CurrentUser,
    memories: MemoriesDep,
) -> None:
    """Erase one of the caller's memories; of any user for administrators."""
    await memories.erase_one(user_id, assistant_id, path, asked_by=user)
