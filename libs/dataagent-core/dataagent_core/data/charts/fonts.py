"""Whether pictures can show Chinese: a font with its characters, found on this machine.

The drawing library uses the system's fonts and carries only Latin ones. Without a font every
Chinese character is an empty box, so whoever draws asks here first and says what to install.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

SYSTEM_DIRECTORIES = (
    Path("/usr/share/fonts"),
    Path("/usr/local/share/fonts"),
    Path("/System/Library/Fonts"),
    Path("/Library/Fonts"),
    Path("C:/Windows/Fonts"),
)
MISSING = (
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
    names = set(_files(directories))
    for pattern, family in _FAMILIES:
        if any(re.fullmatch(pattern, name, re.IGNORECASE) for name in names):
            return family
    return None


def _files(directories: Sequence[Path]) -> Iterator[str]:
    seen = 0
    for directory in directories:
        for _, _, names in os.walk(directory):
            yield from names
            seen += len(names)
            if seen > _MAX_FILES:
                return
