"""Markdown as Rich draws it, without losing a character of the answer.

Rich drops HTML and joins lines; a model that writes `List<int>` or puts figures on lines of their
own would be shown wrongly. Links are written out, so that what is shown is where they lead. Rich
also fills lines with spaces up to the edge, which a person who copies them does not want. Tables
are drawn by `answer_tables.py`.
"""

from __future__ import annotations

from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown
from rich.segment import Segment

from dataagent_cli.ui.answer_tables import AnswerTable
from dataagent_cli.ui.clean import printable


class _Markdown(Markdown):
    elements: ClassVar = {**Markdown.elements, "table_open": AnswerTable}


class AnswerMarkdown:
    """A renderable of Markdown text."""

    def __init__(self, text: str) -> None:
        markup = printable(text)
        self._drawn = _Markdown("", hyperlinks=False, code_theme="ansi_dark")
        self._drawn.markup = markup
        self._drawn.parsed = _parse(markup)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self._drawn, options, pad=False):
            yield from _without_filling(line)
            yield Segment.line()


def _parse(markup: str) -> list[Token]:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    tokens = parser.parse(markup)
    for token in tokens:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"
    return tokens


def _without_filling(line: list[Segment]) -> list[Segment]:
    """The line up to the last thing that can be seen."""
    end = len(line)
    while end and not line[end - 1].text.strip() and not _has_background(line[end - 1]):
        end -= 1
    kept = line[:end]
    if kept and not _has_background(kept[-1]):
        kept[-1] = Segment(kept[-1].text.rstrip(" "), kept[-1].style)
    return kept


def _has_background(segment: Segment) -> bool:
    style = segment.style
    return style is not None and (style.bgcolor is not None or bool(style.reverse))
