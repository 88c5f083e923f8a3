"""Which kept result is meant: by its id, or the newest one. Above: `export`, `chart`, `explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_core.errors import ArtifactNotFound, BadInput

if TYPE_CHECKING:
    from dataagent_cli.data.desk import Desk
    from dataagent_core.data.types import Artifact

NEWEST = "last"
_LOOKED_AT = 50


async def kept_artifact(desk: Desk, artifact_id: str) -> Artifact:
    """The artefact of that id, or for `last` the newest one.

    Raises:
        ArtifactNotFound: there is none, or it has expired.
    """
    if artifact_id != NEWEST:
        return await desk.service.artifacts.get(artifact_id, owner=desk.user_id)
    newest = await desk.service.artifacts.list(desk.user_id, limit=1)
    if not newest:
        raise _none(desk)
    return newest[0]


async def kept_table(desk: Desk, artifact_id: str) -> Artifact:
    """As `kept_artifact`; `last` is the newest table, and a chart stands for what it draws.

    Raises:
        ArtifactNotFound: there is none, or it has expired.
        BadInput: it is a file.
    """
    if artifact_id == NEWEST:
        newest = await newest_table(desk)
        if newest is None:
            raise _none(desk)
        return newest
    found = await desk.service.artifacts.get(artifact_id, owner=desk.user_id)
    if found.kind == "chart" and found.parent_id:
        return await desk.service.artifacts.get(found.parent_id, owner=desk.user_id)
    if found.kind != "table":
        raise BadInput(f"Artefact {artifact_id} is a {found.kind}, not a table.")
    return found


async def newest_table(desk: Desk) -> Artifact | None:
    """The table that was kept last, if one was."""
    for each in await desk.service.artifacts.list(desk.user_id, limit=_LOOKED_AT):
        if each.kind == "table":
            return each
    return None


def _none(desk: Desk) -> ArtifactNotFound:
    return ArtifactNotFound(
        "No result has been kept yet.",
        details={"hint": f'run a statement first: {desk.spelled}sql "SELECT …"'},
    )
