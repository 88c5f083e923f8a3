"""Converts a web page to Markdown, without what surrounds its content. Runs in the reading process.

Scripts, forms and navigation are left out; a page that marks its main part is read from there.
Links become absolute; pictures are named and not linked, so that showing the text loads nothing.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from markdownify import MarkdownConverter

from dataagent_core.documents.output import DocumentOutput
from dataagent_core.errors import BadFile

_DROPPED = [
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "head",
    "form", "button", "input", "select", "textarea", "dialog", "canvas", "video", "audio",
]  # fmt: skip
_FRAME = ["nav", "footer", "aside"]
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030"}
"""Names that pages use for more than they mean."""
_LEAST = 200
"""A main part with fewer characters is not the page's text."""


def read_web(
    content: bytes, output: DocumentOutput, *, base_url: str | None, charset: str | None
) -> None:
    """Write the page, from the start on. `charset` is the one its server states.

    Raises:
        BadFile: it is nested too deeply.
    """
    try:
        lines = _markdown(_decode(content, charset), output, base_url)
    except RecursionError as error:
        raise BadFile("The page is nested too deeply to be read.") from error
    first = output.begin_at("line", len(lines))
    last = first
    for line in lines[first:]:
        last += 1
        if not output.add(f"{line}\n"):
            break
    output.ended_at("line", last, len(lines))


def _decode(content: bytes, charset: str | None) -> str:
    """Decode with the encoding that the first bytes, the server or the page states."""
    content, marked = EncodingDetector.strip_byte_order_mark(content)
    declared = EncodingDetector.find_declared_encoding(content, is_html=True)
    for named in (marked, charset, declared):
        name = (named or "").lower()
        try:
            return content.decode(_WIDER.get(name, name), errors="replace")
        except LookupError:  # no charset is stated, or an unknown one
            continue
    return content.decode(errors="replace")


def _markdown(text: str, output: DocumentOutput, base_url: str | None) -> list[str]:
    soup = BeautifulSoup(text, "html.parser")
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    output.what = f"Web page: {title[:200]}" if title else "Web page"
    for tag in soup.find_all(_DROPPED):
        tag.decompose()
    for tag in soup.find_all(_is_hidden):
        tag.decompose()
    part = _main(soup)
    for tag in part.find_all(_FRAME):
        tag.decompose()
    for link in part.find_all("a", href=True):
        link["href"] = _absolute(str(link["href"]), base_url)
    converter: Any = _Converter(heading_style="ATX", bullets="-")
    markdown: str = converter.convert_soup(part)
    return _without_runs_of_blank_lines([line.rstrip() for line in markdown.splitlines()])


def _main(soup: BeautifulSoup) -> Tag:
    """Return the part the page marks as its main one, else all of it."""
    for name in ("main", "article"):
        found = soup.find_all(name)
        if len(found) == 1 and len(found[0].get_text(" ", strip=True)) >= _LEAST:
            return found[0]
    return soup


def _is_hidden(tag: Tag) -> bool:
    style = str(tag.attrs.get("style", "")).replace(" ", "").lower()
    return (
        "hidden" in tag.attrs
        or tag.attrs.get("aria-hidden") == "true"
        or "display:none" in style
        or "visibility:hidden" in style
    )


def _absolute(address: str, base_url: str | None) -> str:
    try:
        return urljoin(base_url, address) if base_url else address
    except ValueError:
        return address


# markdownify has no types
class _Converter(MarkdownConverter):  # pyright: ignore[reportUntypedBaseClass]
    """Converts to Markdown without the addresses of pictures."""

    def convert_img(self, el: Any, text: str, parent_tags: Any) -> str:
        alternative = str(el.attrs.get("alt") or "").strip()
        return f"[picture: {alternative[:200]}]" if alternative else ""


def _without_runs_of_blank_lines(lines: list[str]) -> list[str]:
    result = [line for number, line in enumerate(lines) if line or (number and lines[number - 1])]
    while result and not result[0]:
        result.pop(0)
    return result
