"""`/api/v1/mcp/templates`: stdio servers that users may have. Administrators make them."""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_server.api.route import PrivateRoute
from dataagent_server.deps.providers import AdminUser, CurrentUser, McpTemplatesDep
from dataagent_server.models.fields import Page, PathId, check_same
from dataagent_server.models.mcp_templates import TemplateBody, TemplateInfo, TemplateUpdate

router = APIRouter(prefix="/mcp/templates", tags=["MCP templates"], route_class=PrivateRoute)


@router.get("", operation_id="list_mcp_templates")
async def list_mcp_templates(user: CurrentUser, templates: McpTemplatesDep) -> Page[TemplateInfo]:
    """The templates and what to fill in, by name."""
    items = [TemplateInfo.of(each, is_admin=user.is_admin) for each in await templates.list()]
    return Page[TemplateInfo](items=items, total=len(items))


@router.post("", operation_id="create_mcp_template", status_code=201)
async def create_mcp_template(
    body: TemplateBody, admin: AdminUser, templates: McpTemplatesDep
) -> TemplateInfo:
    """Make a template. For administrators; 409 if the name is taken."""
    return TemplateInfo.of(await templates.create(body.new, by=admin.user_id), is_admin=True)


@router.get("/{template_id}", operation_id="get_mcp_template")
async def get_mcp_template(
    template_id: PathId, user: CurrentUser, templates: McpTemplatesDep
) -> TemplateInfo:
    """A template, by id or name."""
    return TemplateInfo.of(await templates.get(template_id), is_admin=user.is_admin)


@router.put("/{template_id}", operation_id="replace_mcp_template")
async def replace_mcp_template(
    template_id: PathId, body: TemplateUpdate, admin: AdminUser, templates: McpTemplatesDep
) -> TemplateInfo:
    """Put another template in its place. For administrators.

    Servers made from the one before are off until their users fill it in anew.
    """
    if body.template_id is not None:  # the address may have its name
        known = await templates.get(template_id)
        check_same("template_id", known.template_id, body.template_id)
    replaced = await templates.update(template_id, body.new, by=admin.user_id)
    return TemplateInfo.of(replaced, is_admin=True)


@router.delete("/{template_id}", operation_id="delete_mcp_template", status_code=204)
async def delete_mcp_template(
    template_id: PathId, _: AdminUser, templates: McpTemplatesDep
) -> None:
    """Delete a template; servers made from it are off. For administrators."""
    await templates.delete(template_id)
