"""Pictures in the terminal, by kitty's protocol or sixel, as far as the environment names them.

kitty takes the PNG itself. Sixel is drawn here with at most 64 colours over white, six rows of
pixels at a time; Pillow is loaded only for that.
"""

from __future__ import annotations

import io
from base64 import standard_b64encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal, assert_never

from dataagent_core.config.settings import environment

Graphics = Literal["kitty", "sixel"]
_KITTY_PROGRAMS = ("ghostty", "wezterm")
_SIXEL_PROGRAMS = ("mintty", "contour", "blackbox", "rio")
_SIXEL_TERMS = ("foot", "mlterm", "yaft", "contour")
Choice = Literal[Graphics, "auto", "off"]
"""The user's setting, for a terminal whose environment does not tell, such as one in tmux."""


def reflows(env: Mapping[str, str] | None = None) -> bool:
    """Whether long lines are broken anew when the window gets narrower."""
    env = environment() if env is None else env
    term = env.get("TERM", "")
    is_old = "XTERM_VERSION" in env or term == "linux"
    return not is_old and (not term.startswith("screen") or "TMUX" in env)


def graphics(choice: Choice = "auto", env: Mapping[str, str] | None = None) -> Graphics | None:
    """How pictures are sent to the terminal; None where none could be seen."""
    match choice:
        case "off":
            return None
        case "auto":
            return _graphics(environment() if env is None else env)
        case _:
            return choice


def _graphics(env: Mapping[str, str]) -> Graphics | None:
    term, program = env.get("TERM", ""), env.get("TERM_PROGRAM", "").lower()
    if "TMUX" in env or term.startswith(("screen", "tmux")):
        return None  # they would not pass it on
    if term == "xterm-kitty" or "KITTY_WINDOW_ID" in env or program in _KITTY_PROGRAMS:
        return "kitty"
    if term.startswith(_SIXEL_TERMS) or program in _SIXEL_PROGRAMS:
        return "sixel"
    return None


_CHUNK = 4096
_WIDEST = 640
_TALLEST = 480
_COLOURS = 64


def picture_text(png: bytes, how: Graphics, *, columns: int) -> str:
    """What is written to the terminal, with a line end after it."""
    match how:
        case "kitty":
            return f"{_kitty(png, columns)}\n"
        case "sixel":
            return f"{_sixel(png)}\n"
        case _:
            assert_never(how)


def _kitty(png: bytes, columns: int) -> str:
    data = standard_b64encode(png).decode()
    pieces = [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)]
    parts: list[str] = []
    for number, piece in enumerate(pieces, 1):
        first = f"a=T,f=100,q=2,c={columns}," if number == 1 else ""
        more = int(number < len(pieces))
        parts.append(f"\x1b_G{first}m={more};{piece}\x1b\\")
    return "".join(parts)


def _sixel(png: bytes) -> str:
    from PIL import Image

    with Image.open(io.BytesIO(png)) as opened:
        drawn = opened.convert("RGBA")
    drawn.thumbnail((_WIDEST, _TALLEST))
    flat = Image.new("RGB", drawn.size, "white")
    flat.paste(drawn, mask=drawn.getchannel("A"))
    reduced = flat.quantize(_COLOURS)
    palette = reduced.getpalette() or []
    width, height = reduced.size
    pixels = reduced.tobytes()
    rows = [pixels[at : at + width] for at in range(0, width * height, width)]
    bands = "-".join(_band(rows[at : at + 6], width) for at in range(0, height, 6))
    return f'\x1bPq"1;1;{width};{height}{"".join(_registers(palette))}{bands}\x1b\\'


def _registers(palette: Sequence[int]) -> Iterator[str]:
    """The colours, each in parts of a hundred."""
    for number in range(len(palette) // 3):
        parts = (round(part * 100 / 255) for part in palette[number * 3 : number * 3 + 3])
        yield f"#{number};2;{';'.join(map(str, parts))}"


def _band(rows: Sequence[bytes], width: int) -> str:
    """Up to six rows of pixels: for each colour in them, which of the six it has in each column."""
    columns: dict[int, bytearray] = {}
    for bit, row in enumerate(rows):
        for x, colour in enumerate(row):
            columns.setdefault(colour, bytearray(width))[x] |= 1 << bit
    return "$".join(f"#{colour}{_run_lengths(bits)}" for colour, bits in columns.items())


def _run_lengths(bits: bytearray) -> str:
    parts: list[str] = []
    for value, run in groupby(bits):
        count, sign = len(list(run)), chr(63 + value)
        parts.append(f"!{count}{sign}" if count > 3 else sign * count)
    return "".join(parts)
