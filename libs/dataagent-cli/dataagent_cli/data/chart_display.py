"""Shows a chart at the terminal: as a picture or in characters; the picture is also saved."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli.data.files import CannotWrite, save
from dataagent_cli.ui.chart_text import chart_text
from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.graphics import picture_text
from dataagent_core.errors import ArtifactNotFound, DataAgentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TextIO

    from dataagent_cli.data.context import DataCommandContext
    from dataagent_core.data.types import Artifact
    from dataagent_core.events import ArtifactEvent

_USUAL_WIDTH = 80
_WIDEST = 100
_MOST_NAME = 40


def chart_display(context: DataCommandContext) -> Callable[[ArtifactEvent], Awaitable[None]]:
    """A function that shows a run's chart beside the answer."""

    async def show(event: ArtifactEvent) -> None:
        try:
            chart = await context.service.artifacts.get(event.artifact_id, owner=context.user_id)
        except ArtifactNotFound:  # deleted already
            return
        await show_chart(context, chart, context.streams.err)

    return show


async def show_chart(context: DataCommandContext, chart: Artifact, out: TextIO) -> None:
    """Show a chart on `out`, and say where its picture is; a failure is only a message."""
    png = await _picture(context, chart)
    how = context.graphics if out.isatty() else None
    if png is not None and how is not None:
        out.write(
            picture_text(png, how, columns=min(context.streams.width or _USUAL_WIDTH, _WIDEST))
        )
    else:
        await _write_text(context, chart, out)
    out.flush()
    if png is not None:
        await _save_picture(context, chart, png)


async def _picture(context: DataCommandContext, chart: Artifact) -> bytes | None:
    try:
        picture = await context.data.charts.picture(chart, "png")
    except DataAgentError as error:
        context.streams.say(f"no picture: {one_line(error.message)}")
        return None
    if picture.note:
        context.streams.say(picture.note)
    return picture.content


async def _write_text(context: DataCommandContext, chart: Artifact, out: TextIO) -> None:
    width = min(context.streams.width or _USUAL_WIDTH, _WIDEST)
    try:
        text = chart_text(await context.data.charts.shown(chart), width=width - 1)
    except DataAgentError as error:
        text = one_line(error.message)
    if text:
        out.write(f"{text}\n")


async def _save_picture(context: DataCommandContext, chart: Artifact, png: bytes) -> None:
    """Save the picture among the outputs."""
    folder = context.outputs or Path()
    stem = re.sub(r"\W+", "-", chart.title).strip("-")[:_MOST_NAME] or "chart"
    path = folder / f"{stem}-{chart.artifact_id[:8]}.png"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        await save(path, [png])
    except (OSError, CannotWrite) as error:
        context.streams.say(f"the picture was not saved: {error}")
        return
    context.streams.say(f"picture: {path}")
