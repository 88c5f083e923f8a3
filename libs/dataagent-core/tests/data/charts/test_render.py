# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Charts drawn for real. pyarrow has no types, and is made here only to be handed on."""

from __future__ import annotations

import asyncio
import re
import struct
import zlib
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest

from dataagent_core.data.charts import Renderer, check_spec, cjk_font, default_spec, for_browser
from dataagent_core.data.charts.drawing import draw
from dataagent_core.data.types import ResultColumn
from dataagent_core.errors import BadChart
from tests.requirements import requirement


@pytest.fixture
async def renderer() -> AsyncIterator[Renderer]:
    one = Renderer()
    yield one
    await one.aclose()


def columns(**types: str) -> list[ResultColumn]:
    return [ResultColumn(name, name, kind) for name, kind in types.items()]


def bar(**types: str) -> dict[str, Any]:
    x, y = types
    spec = {"mark": "bar", "encoding": {"x": {"field": x}, "y": {"field": y}}}
    return check_spec(spec, columns(**types))


def pixels(png: bytes) -> bytes:
    """The image data of a PNG, decompressed."""
    at, data = 8, b""
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += size + 12
    return zlib.decompress(data)


def labels(svg: bytes) -> list[str]:
    return re.findall(r">([^<>]+)</text>", svg.decode())


async def test_a_chart_becomes_a_png_and_an_svg(renderer: Renderer) -> None:
    rows = pa.table({"Country": ["DE", "FR"], "n": [3, 5]})
    png = await renderer.render(bar(Country="string", n="int64"), rows, "png")
    svg = await renderer.render(bar(Country="string", n="int64"), rows, "svg")

    assert png.content.startswith(b"\x89PNG")
    assert (png.media_type, svg.media_type) == ("image/png", "image/svg+xml")
    assert {"DE", "FR", "Country", "n"} <= set(labels(svg.content))
    assert png.note is None


async def test_chinese_labels_are_glyphs_and_not_boxes(renderer: Renderer) -> None:
    assert renderer.font is not None, "install a CJK font, such as Debian's fonts-wqy-zenhei"
    pictures = [
        (
            await renderer.render(
                check_spec({"mark": "bar", "title": title, "encoding": {}}, []), [], "png"
            )
        ).content
        for title in ("国", "度", "销", "元")
    ]

    drawn = [pixels(picture) for picture in pictures]
    assert len(set(drawn)) == 4  # boxes would all look the same
    assert all(len(one) == len(two) for one, two in pairwise(drawn))  # and are as wide


async def test_without_a_chinese_font_the_note_says_what_to_install(tmp_path: Path) -> None:
    assert cjk_font([tmp_path]) is None
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "wqy-zenhei.ttc").touch()
    assert cjk_font([tmp_path]) == "WenQuanYi Zen Hei"

    renderer = Renderer()
    renderer._font = None
    try:
        rows = [{"国家": "德国", "n": 3}]
        note = (await renderer.render(bar(国家="string", n="int64"), rows, "svg")).note
        plain = await renderer.render(bar(a="string", n="int64"), [{"a": "DE", "n": 3}], "svg")
    finally:
        await renderer.aclose()
    assert "fonts-wqy-zenhei" in (note or "")
    assert plain.note is None


NAMES = ["订单.总额", "a[0]", "it's", 'q"x"', "b\\c", "sum(x)", "<b>&", "constructor", "a\nb"]


@pytest.mark.slow
async def test_any_column_name_can_be_drawn(renderer: Renderer) -> None:
    for name in (*NAMES, "__proto__"):
        assert "123456" in (await drawn(renderer, name)).replace(",", "")


async def drawn(renderer: Renderer, name: str) -> str:
    spec = {
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "x": {"field": "k"},
            "y": {"field": name, "aggregate": "sum"},
            "tooltip": [{"field": name, "aggregate": "mean"}],
        },
    }
    checked = check_spec(spec, columns(**{"k": "string", name: "int64"}))
    rows = [{"k": "x", name: 123_456}, {"k": "y", name: 20}]
    return (await renderer.render(checked, rows, "svg")).content.decode()


async def test_nothing_is_loaded_even_when_the_check_is_passed_by(renderer: Renderer) -> None:
    """A specification that never went through `check_spec` still reaches no address."""
    hits: list[str] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hits.append((await reader.readline()).decode())
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        spec: dict[str, Any] = {
            "layer": [
                {
                    "data": {"url": f"http://127.0.0.1:{port}/x.json"},
                    "mark": "bar",
                    "encoding": {"x": {"field": "a", "type": "nominal"}},
                }
            ]
        }
        with pytest.raises(BadChart):
            await renderer.render(spec, [{"a": 1}], "svg")
    assert hits == []


@pytest.mark.slow
@requirement("G13")
async def test_a_chart_that_takes_too_long_is_killed_and_the_next_one_is_drawn() -> None:
    """The filter's expression loops in the drawing library; `check_spec` would refuse it."""
    renderer = Renderer(timeout_seconds=30)
    rows = [{"a": "x", "n": 1}]
    good = bar(a="string", n="int64")
    nested = "sequence(3000)"
    for name in "abcdef":
        nested = f"{nested}.length ? extent(sort(sequence(3000000))) : {name!r}"
    slow = {**good, "transform": [{"calculate": nested, "as": "z"}] * 200}
    try:
        await renderer.render(good, rows, "svg")
        child = renderer._child
        renderer._timeout_seconds = 0.2
        with pytest.raises(BadChart) as caught:
            await renderer.render(slow, rows, "svg")
        assert (caught.value.details or {})["reason"] == "timeout"
        assert child is not None
        assert not psutil.pid_exists(child.pid)
        renderer._timeout_seconds = 30
        assert (await renderer.render(good, rows, "svg")).content
    finally:
        await renderer.aclose()


@pytest.mark.slow
async def test_a_chart_is_drawn_while_the_unused_child_is_about_to_end(renderer: Renderer) -> None:
    rows, spec = [{"a": "x", "n": 1}], bar(a="string", n="int64")
    await renderer.render(spec, rows, "svg")
    renderer._stop_idle()
    assert (await renderer.render(spec, rows, "svg")).content


@pytest.mark.slow
async def test_a_dead_child_is_replaced_and_close_leaves_no_process() -> None:
    renderer = Renderer()
    rows, spec = [{"a": "x", "n": 1}], bar(a="string", n="int64")
    await renderer.render(spec, rows, "svg")
    first = renderer._child
    assert first is not None
    first.kill()
    await first.wait()

    assert (await renderer.render(spec, rows, "svg")).content
    second = renderer._child
    assert second is not None
    assert second.pid != first.pid
    await renderer.aclose()
    assert not psutil.pid_exists(second.pid)


@requirement("G13")
async def test_the_event_loop_runs_on_while_a_chart_is_drawn(renderer: Renderer) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    await renderer.render(bar(a="string", n="int64"), [{"a": "x", "n": 1}], "svg")
    ticking.cancel()
    assert ticks > 100


def test_the_browser_gets_plain_values() -> None:
    types = {
        "d": "date32[day]",
        "t": "timestamp[us, tz=UTC]",
        "x": "decimal128(10, 2)",
        "k": "string",
    }
    channels = zip(("x", "y", "size", "color"), types, strict=True)
    spec = {"mark": "point", "encoding": {channel: {"field": name} for channel, name in channels}}
    moment = datetime(2024, 5, 1, 8, 30, tzinfo=UTC)
    rows = [
        {"d": date(2024, 5, 1), "t": moment, "x": Decimal("1.50"), "k": None, "unused": "secret"},
        {"d": None, "t": None, "x": Decimal("NaN"), "k": "b", "unused": "secret"},
    ]
    shown = for_browser(check_spec(spec, columns(**types)), rows)

    assert shown["data"]["values"] == [
        {"c0": "2024-05-01T00:00:00", "c1": "2024-05-01T08:30:00", "c2": 1.5, "c3": None},
        {"c0": None, "c1": None, "c2": None, "c3": "b"},
    ]
    assert shown["encoding"]["x"] == {"field": "c0", "type": "temporal", "title": "d"}


def test_months_written_as_text_are_dates() -> None:
    types = {"month": "string", "n": "int64"}
    spec = default_spec(columns(**types), row_count=2)
    shown = for_browser(spec, [{"month": "2024-01", "n": 1}, {"month": "2024-02", "n": 2}])

    assert [row["c0"] for row in shown["data"]["values"]] == [
        "2024-01-01T00:00:00",
        "2024-02-01T00:00:00",
    ]
    with pytest.raises(BadChart, match="no ISO date"):
        for_browser(spec, [{"month": "Jan", "n": 1}, {"month": "Feb", "n": 2}])


@pytest.mark.parametrize("text", ["unknown", "2024-02-30", "2024-13", "02/2024"])
def test_one_text_that_is_no_date_is_refused_rather_than_left_out(text: str) -> None:
    spec = default_spec(columns(month="string", n="int64"), row_count=3)
    rows = [{"month": "2024-01", "n": 1}, {"month": text, "n": 2}, {"month": None, "n": 3}]
    with pytest.raises(BadChart, match=f"'{text}', which is no ISO date"):
        for_browser(spec, rows)


def test_more_rows_than_are_drawn_are_said_on_the_chart() -> None:
    types = {"a": "double", "b": "double"}
    spec = default_spec(columns(**types), row_count=20_000)
    drawing = draw(spec, [{"a": n, "b": n} for n in range(6_000)], total_rows=20_000)

    assert len(drawing.spec["data"]["values"]) == 5_000
    assert drawing.note == "Drawn from the first 5,000 of 20,000 rows"
    assert drawing.spec["title"]["subtitle"] == drawing.note


def test_an_aggregate_over_a_part_of_the_rows_is_refused() -> None:
    """The mean of the first rows is not the mean."""
    types = {"k": "string", "n": "int64"}
    encoding = {"x": {"field": "k"}, "y": {"field": "n", "aggregate": "mean"}}
    spec = check_spec({"mark": "bar", "encoding": encoding}, columns(**types))
    rows = [{"k": "a", "n": n} for n in range(6_000)]

    assert len(for_browser(spec, rows)["data"]["values"]) == 6_000
    with pytest.raises(BadChart) as caught:
        for_browser(spec, rows, total_rows=20_000)
    assert (caught.value.details or {})["reason"] == "too_many_rows"


def test_quartiles_of_a_part_of_the_rows_are_refused() -> None:
    encoding = {"x": {"field": "k"}, "y": {"field": "n"}}
    spec = check_spec({"mark": "boxplot", "encoding": encoding}, columns(k="string", n="int64"))
    rows = [{"k": "a", "n": n} for n in range(6_000)]

    assert len(for_browser(spec, rows)["data"]["values"]) == 6_000
    with pytest.raises(BadChart) as caught:
        for_browser(spec, rows, total_rows=60_000)
    assert (caught.value.details or {})["reason"] == "too_many_rows"


def test_more_categories_than_can_be_read_are_refused() -> None:
    rows = [{"k": f"name {n}", "n": n} for n in range(600)]
    with pytest.raises(BadChart) as caught:
        for_browser(bar(k="string", n="int64"), rows)
    assert (caught.value.details or {})["reason"] == "too_many_categories"


@pytest.mark.parametrize(
    ("moments", "kind", "ticks"),
    [
        (["2020", "2021", "2022"], "string", ["2020", "2021", "2022"]),
        ([date(2020, 1, 1), date(2021, 1, 1)], "date32[day]", ["2020", "2021"]),
        ([str(year) for year in range(1990, 2020)], "string", [str(y) for y in range(1990, 2020)]),
        (["2023-01", "2023-04", "2023-07"], "string", ["2023", "April", "July"]),
        (["2024-01", "2024-02", "2024-03"], "string", ["2024", "February", "March"]),
        (["2024-01-01", "2024-01-02"], "string", ["2024", "Tue 02"]),
    ],
)
async def test_a_series_has_no_ticks_between_its_dates(
    renderer: Renderer, moments: list[Any], kind: str, ticks: list[str]
) -> None:
    rows = [{"year": moment, "sales": at + 3} for at, moment in enumerate(moments)]
    spec = default_spec(columns(year=kind, sales="int64"), row_count=len(rows))
    picture = await renderer.render(spec, rows, "svg")

    shown = labels(picture.content)
    named = shown[: shown.index("year")]
    assert named[0] == ticks[0]
    assert set(named) <= set(ticks)


def test_an_axis_keeps_the_ticks_it_asks_for() -> None:
    x = {"field": "year", "type": "temporal", "axis": {"tickCount": 4, "format": "%b"}}
    spec = check_spec({"mark": "line", "encoding": {"x": x}}, columns(year="string"))
    drawn = for_browser(spec, [{"year": "2020"}, {"year": "2021"}])

    assert drawn["encoding"]["x"]["axis"] == x["axis"]


def test_a_series_with_a_clock_at_24_is_drawn() -> None:
    moments = ["2024-01-01 24:00", "2024-01-02 10:00:00.5", "2024-01-03 10:00:00.1234567"]
    spec = default_spec(columns(time="string", sales="int64"), row_count=3)
    drawn = for_browser(spec, [{"time": moment, "sales": 1} for moment in moments])

    assert len(drawn["data"]["values"]) == 3
