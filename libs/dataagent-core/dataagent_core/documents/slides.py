"""Reads slides with python-pptx, with tables and speakers' notes. Runs in the reading process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO

from pptx import Presentation
from pptx.exc import PackageNotFoundError

from dataagent_core.documents.output import DocumentOutput, as_table, count_of
from dataagent_core.errors import BadFile

_DEEPEST = 20


def read_slides(stream: BinaryIO, output: DocumentOutput) -> None:
    """Write the slides, from the start on.

    Raises:
        BadFile: it is broken, or has macros in a way that makes it another kind of file.
    """
    slides = _slides(stream, output)
    output.what = f"PowerPoint, {count_of(len(slides), 'slide')}"
    first = output.begin_at("slide", len(slides))
    last = first
    unread: Counter[str] = Counter()
    for slide in slides[first:]:
        last += 1
        output.at(f"slide {last}")
        unread.update(filter(None, map(_unread, _shapes(slide.shapes, 0))))
        if not output.add(f"{_slide(slide, last)}\n\n"):
            break
    if unread:
        named = ", ".join(count_of(number, what) for what, number in unread.items())
        output.notes.append(f"Not read: {named}.")
    output.ended_at("slide", last, len(slides))


def _slides(stream: BinaryIO, output: DocumentOutput) -> list[Any]:
    try:
        return list(Presentation(stream).slides)  # pyright: ignore[reportArgumentType] bytes
    except (PackageNotFoundError, KeyError) as error:
        raise BadFile(f"'{output.name}' is broken or cut off. Save it again as .pptx.") from error
    except ValueError as error:  # python-pptx says so of other content types
        raise BadFile(
            f"'{output.name}' is a presentation with macros or a template. Save it as .pptx."
        ) from error


def _slide(slide: Any, number: int) -> str:
    title = slide.shapes.title
    heading = f"## Slide {number}"
    if title is not None and title.has_text_frame and title.text_frame.text.strip():
        heading += f": {' '.join(title.text_frame.text.split())}"
    if slide.element.get("show") == "0":
        heading += " (hidden)"
    parts = [heading]
    for shape in _shapes(slide.shapes, 0):
        if title is None or shape.shape_id != title.shape_id:
            parts += filter(None, [_text(shape)])
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        parts += [f"Speaker's notes: {notes}"] if notes else []
    return "\n\n".join(parts)


def _shapes(shapes: Any, depth: int) -> Iterator[Any]:
    """Yield the shapes, including those in groups."""
    for shape in shapes:
        if hasattr(shape, "shapes") and depth < _DEEPEST:
            yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


def _unread(shape: Any) -> str | None:
    """Describe a shape without text. A picture may be a link: it is not opened."""
    if shape.element.tag.endswith("}pic"):
        return "picture"
    if shape.element.tag.endswith("}graphicFrame") and not shape.has_table:
        return "chart" if shape.has_chart else "other object"
    return None


def _text(shape: Any) -> str:
    if getattr(shape, "has_table", False):
        return as_table([[cell.text for cell in row.cells] for row in shape.table.rows])
    return shape.text_frame.text.strip() if getattr(shape, "has_text_frame", False) else ""
