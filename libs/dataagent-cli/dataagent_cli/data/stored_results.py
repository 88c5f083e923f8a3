"""Which kept result is meant: by its id, or the newest one. Above: `export`, `chart`, `explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_core.errors import ArtifactNotFound, BadInput

if TYPE_CHECKING:
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_core.data.types import Artifact

NEWEST = "last"
_SEARCHED = 50


async def find_artifact(context: DataCommandContext, artifact_id: str) -> Artifact:
    """The artefact of that id, or for `last` the newest one.

    Raises:
        ArtifactNotFound: there is none, or it has expired.
    """
    if artifact_id != NEWEST:
        return await context.service.artifacts.get(artifact_id, owner=context.user_id)
    newest = await context.service.artifacts.list(context.user_id, limit=1)
    if not newest:
        raise _no_results(context)
    return newest[0]


async def find_table(context: DataCommandContext, artifact_id: str) -> Artifact:
    """As `find_artifact`; `last` is the newest table, and a chart stands for what it draws.

    Raises:
        ArtifactNotFound: there is none, or it has expired.
        BadInput: it is a file.
    """
    if artifact_id == NEWEST:
        newest = await newest_table(context)
        if newest is None:
            raise _no_results(context)
        return newest
    found = await context.service.artifacts.get(artifact_id, owner=context.user_id)
    if found.kind == "chart" and found.parent_id:
        return await context.service.artifacts.get(found.parent_id, owner=context.user_id)
    if found.kind != "table":
        raise BadInput(f"Artefact {artifact_id} is a {found.kind}, not a table.")
    return found


async def newest_table(context: DataCommandContext) -> Artifact | None:
    """The table that was kept last, if one was."""
    for each in await context.service.artifacts.list(context.user_id, limit=_SEARCHED):
        if each.kind == "table":
            return each
    return None


def _no_results(context: DataCommandContext) -> ArtifactNotFound:
    return ArtifactNotFound(
        "No result has been kept yet.",
        details={"hint": f'run a statement first: {context.command_prefix}sql "SELECT …"'},
    )
