"""Renders charts as pictures, for the terminal and for export.

A child process draws (`worker.py`), one chart at a time, and stays for the next one: the first
takes about a second, later ones a tenth. One that takes too long is killed and the next request
starts another. Rows are joined with the specification in a thread, so the event loop is never held.
Nothing is loaded from the network. The drawing library carries only Latin fonts: `cjk_font` finds
an installed one with Chinese characters, without which each would be an empty box.
"""

from __future__ import annotations

import asyncio
import os
import re
import struct
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson

from dataagent_core.data.charts.drawing import Drawing, Rows, draw, has_cjk
from dataagent_core.data.charts.fields import Spec, refuse
from dataagent_core.errors import ToolFailed

SYSTEM_DIRECTORIES = (
    Path("/usr/share/fonts"),
    Path("/usr/local/share/fonts"),
    Path("/System/Library/Fonts"),
    Path("/Library/Fonts"),
    Path("C:/Windows/Fonts"),
)
MISSING_FONT = (
    "No font with Chinese characters was found, so they are drawn as boxes. Install one, "
    "such as the Debian package fonts-wqy-zenhei or fonts-noto-cjk, and restart."
)
_FAMILIES = (  # best first
    (r"NotoSansCJK(sc)?-Regular\.(ttc|otf)", "Noto Sans CJK SC"),
    (r"NotoSansSC.*\.(ttf|otf)", "Noto Sans SC"),
    (r"SourceHanSansSC-Regular\.(ttf|otf)", "Source Han Sans SC"),
    (r"SourceHanSansCN-Regular\.(ttf|otf)", "Source Han Sans CN"),
    (r"PingFang\.ttc", "PingFang SC"),
    (r"msyh\.ttc", "Microsoft YaHei"),
    (r"wqy-microhei\.ttc", "WenQuanYi Micro Hei"),
    (r"wqy-zenhei\.ttc", "WenQuanYi Zen Hei"),
    (r"DroidSansFallback(Full)?\.ttf", "Droid Sans Fallback"),
    (r"Hiragino Sans GB\.ttc", "Hiragino Sans GB"),
    (r"STHeiti Medium\.ttc", "Heiti SC"),
    (r"simhei\.ttf", "SimHei"),
)
_MAX_FILES = 20_000


def cjk_font(directories: Sequence[Path] = SYSTEM_DIRECTORIES) -> str | None:
    """The family name of the best font with Chinese characters, or None."""
    names = set(_font_files(directories))
    for pattern, family in _FAMILIES:
        if any(re.fullmatch(pattern, name, re.IGNORECASE) for name in names):
            return family
    return None


def _font_files(directories: Sequence[Path]) -> Iterator[str]:
    seen = 0
    for directory in directories:
        for _, _, names in os.walk(directory):
            yield from names
            seen += len(names)
            if seen > _MAX_FILES:
                return


ChartFormat = Literal["png", "svg"]
MAX_SCALE = 4.0
_WORKER = Path(__file__).with_name("worker.py")
_MEDIA_TYPES: dict[ChartFormat, str] = {"png": "image/png", "svg": "image/svg+xml"}
_DRAWN_BEFORE_RESTART = 200  # the drawing library keeps a little memory of each chart


@dataclass(frozen=True, slots=True)
class RenderedChart:
    """A picture. `note` says what it leaves out or cannot show."""

    content: bytes
    media_type: str
    note: str | None


class Renderer:
    """Draws charts in a child process of its own. `aclose` ends that process."""

    def __init__(
        self,
        *,
        font: str | None = None,
        timeout_seconds: float = 20.0,
        idle_seconds: float = 120.0,
    ) -> None:
        """Without `font`, the best font found on this machine is used; see `cjk_font`."""
        self._font = font or cjk_font()
        self._timeout_seconds = timeout_seconds
        self._idle_seconds = idle_seconds
        self._lock = asyncio.Lock()
        self._child: Process | None = None
        self._drawn = 0
        self._idle: asyncio.TimerHandle | None = None

    @property
    def font(self) -> str | None:
        """The font with Chinese characters in use, or None if there is none."""
        return self._font

    async def render(
        self,
        spec: Spec,
        rows: Rows,
        fmt: ChartFormat,
        *,
        scale: float = 2.0,
        total_rows: int | None = None,
    ) -> RenderedChart:
        """A picture of a specification that `check_spec` gave, over rows of its result.

        `BadChart` when it cannot be drawn, also when it takes longer than the limit.
        """
        drawing = await asyncio.to_thread(draw, spec, rows, total_rows=total_rows)
        request = await asyncio.to_thread(self._request, drawing, fmt, scale)
        async with self._lock:
            content = await self._ask(request)
        note = drawing.note
        if self._font is None and has_cjk(drawing.spec):
            note = f"{note}. {MISSING_FONT}" if note else MISSING_FONT
        return RenderedChart(content, _MEDIA_TYPES[fmt], note)

    async def aclose(self) -> None:
        """End the child process, if there is one."""
        async with self._lock:
            await self._stop()

    def _request(self, drawing: Drawing, fmt: ChartFormat, scale: float) -> bytes:
        family = f"'{self._font}', sans-serif" if self._font else "sans-serif"
        return orjson.dumps(
            {
                "spec": drawing.spec,
                "format": fmt,
                "scale": min(max(scale, 0.5), MAX_SCALE),
                "locale": "zh-CN" if has_cjk(drawing.spec) else None,
                "config": {"font": family, "background": "white"},
            },
            option=orjson.OPT_PASSTHROUGH_DATETIME,
        )

    async def _ask(self, request: bytes) -> bytes:
        child = await self._ensure_started()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                reply = await _exchange(child, request)
        except TimeoutError:
            await self._stop()
            refuse(
                f"The chart took longer than {self._timeout_seconds:g} s to draw. "
                "Draw fewer rows or a simpler chart.",
                path="$",
                reason="timeout",
            )
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            await self._stop()
            raise ToolFailed("The process that draws charts ended. Try a simpler chart.") from error
        except BaseException:  # cancelled mid-way: the pipe holds half an answer
            await self._stop()
            raise
        if reply[:1] != b"\x01":
            refuse(f"Not drawable: {_first_lines(reply[1:])}", path="$", reason="not_drawable")
        return reply[1:]

    async def _ensure_started(self) -> Process:
        if self._idle is not None:
            self._idle.cancel()
        if self._child is None or _is_leaving(self._child) or self._needs_restart():
            await self._stop()
            self._child = await asyncio.create_subprocess_exec(
                sys.executable,
                "-I",
                str(_WORKER),
                stdin=PIPE,
                stdout=PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={"TZ": "UTC", "LANG": "C.UTF-8"},
            )
        self._drawn += 1
        loop = asyncio.get_running_loop()
        self._idle = loop.call_later(self._idle_seconds, self._stop_idle)
        return self._child

    def _needs_restart(self) -> bool:
        return self._drawn >= _DRAWN_BEFORE_RESTART

    def _stop_idle(self) -> None:
        """Let an unused child go: it ends when its input does."""
        if self._child is not None and self._child.stdin is not None and not self._lock.locked():
            self._child.stdin.close()

    async def _stop(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        child, self._child, self._drawn = self._child, None, 0
        if child is None:
            return
        if child.returncode is None:
            child.kill()
        await child.communicate()


def _is_leaving(child: Process) -> bool:
    """Whether it has ended, or will: its input was closed."""
    return child.returncode is not None or (child.stdin is not None and child.stdin.is_closing())


async def _exchange(child: Process, request: bytes) -> bytes:
    if child.stdin is None or child.stdout is None:
        raise ConnectionError("no pipes")
    child.stdin.write(struct.pack(">I", len(request)) + request)
    await child.stdin.drain()
    size = struct.unpack(">I", await child.stdout.readexactly(4))[0]
    return await child.stdout.readexactly(size)


def _first_lines(message: bytes) -> str:
    lines = [line.strip() for line in message.decode(errors="replace").splitlines()]
    return " ".join(line for line in lines if not line.startswith("at "))[:300]
