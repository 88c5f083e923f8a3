"""Finds a stored result by its id or as the newest one, and describes it in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.ui.clean import one_line
from dataagent_core.errors import ArtifactNotFound, BadInput

if TYPE_CHECKING:
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_core.data.types import Artifact, Receipt


NEWEST = "last"
_SEARCHED = 50


async def find_artifact(context: DataCommandContext, artifact_id: str) -> Artifact:
    """The artefact of an id, or the newest one for `last`.

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
    """The newest stored table, if there is one."""
    for each in await context.service.artifacts.list(context.user_id, limit=_SEARCHED):
        if each.kind == "table":
            return each
    return None


def _no_results(context: DataCommandContext) -> ArtifactNotFound:
    return ArtifactNotFound(
        "No result has been stored yet.",
        details={"hint": f'run a statement first: {context.command_prefix}sql "SELECT …"'},
    )


_LIMITS = {"rows": "row", "bytes": "size", "time": "time"}


def receipt_lines(receipt: Receipt, *, shown: int) -> list[str]:
    """Rows, source and duration; whether rows are missing; warnings and policies."""
    parts = [
        rows_text(shown, receipt.row_count),
        f"{one_line(receipt.source_name)} ({receipt.dialect})",
        duration(receipt.duration_ms),
        *([] if receipt.policy else ["no policy applied"]),
    ]
    lines = [" · ".join(parts)]
    if receipt.truncated_by == "values":
        lines.append("the source has cut a value: see the warnings")
    elif receipt.truncated_by is not None:
        limit = _LIMITS[receipt.truncated_by]
        lines.append(f"stopped at the {limit} limit: the source has more rows than these")
    lines += [f"warning: {one_line(sentence)}" for sentence in receipt.warnings]
    return [*lines, *(f"policy: {one_line(sentence)}" for sentence in receipt.policy)]


def stored_line(artifact: Artifact) -> str:
    """The id of a stored result, and when it expires."""
    until = "" if artifact.expires_at is None else f", stored until {artifact.expires_at:%Y-%m-%d}"
    return f"artefact {artifact.artifact_id}{until}"


def rows_text(shown: int, total: int) -> str:
    """`20 of 1,234 rows`, `1 row`."""
    noun = "row" if total == 1 else "rows"
    return f"{total:,} {noun}" if shown == total else f"{shown:,} of {total:,} {noun}"


def size_text(size: int) -> str:
    """`812 bytes`, `1.4 MB`."""
    if size < 1000:
        return f"{size} bytes"
    amount = float(size)
    for unit in ("kB", "MB"):
        amount /= 1000
        if amount < 1000:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} GB"


def duration(milliseconds: float) -> str:
    """`12 ms`, `1.4 s`."""
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1000:.1f} s"
