"""`/api/v1/api-keys`: the caller's own keys; another user's for administrators."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from dataagent_server.api.deps import CurrentUser, UsersDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.models.accounts import ApiKeyCreate, ApiKeyInfo, NewApiKey
from dataagent_server.models.fields import Id, Page, PathId

OfUser = Annotated[Id | None, Query(description="Another user's; for administrators.")]
router = APIRouter(prefix="/api-keys", tags=["API keys"], route_class=PrivateRoute)


@router.get("", operation_id="list_api_keys")
async def list_api_keys(
    user: CurrentUser, users: UsersDep, user_id: OfUser = None
) -> Page[ApiKeyInfo]:
    """The caller's keys, oldest first, by their first characters."""
    items = [ApiKeyInfo.of(each) for each in await users.keys.list(user.resolve_user(user_id))]
    return Page[ApiKeyInfo](items=items, total=len(items))


@router.post("", operation_id="create_api_key", status_code=201)
async def create_api_key(
    body: ApiKeyCreate, user: CurrentUser, users: UsersDep, user_id: OfUser = None
) -> NewApiKey:
    """Create a key. Only this response has the `key` itself. Only an account has keys (409).

    The list of another user's keys shows who made one for them.
    """
    owner = user.resolve_user(user_id)
    return NewApiKey.made(*await users.keys.create(owner, body.name, by=user.user_id))


@router.delete("/{key_id}", operation_id="revoke_api_key", status_code=204)
async def revoke_api_key(
    key_id: PathId, user: CurrentUser, users: UsersDep, user_id: OfUser = None
) -> None:
    """Revoke one of the caller's keys, at once."""
    await users.keys.revoke(key_id, owner=user.resolve_user(user_id))
