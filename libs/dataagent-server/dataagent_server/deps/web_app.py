"""Reads the built web app's files from this package, and compresses each once.

`vite build` writes them (`make run` does it); without them a page says so.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "web"
NONCE_MARK = "__CSP_NONCE__"
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}")
_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
}
_COMPRESSED_TYPES = frozenset({".png", ".ico", ".woff2"})
_GZIP_LEVEL = 9


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the app; `packed` is None if compression gains nothing."""

    media_type: str
    plain: bytes
    packed: bytes | None


class WebApp:
    """The web app as built. Names have a hash of the content, so files are cached."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._assets: dict[str, Asset] = {}

    def page(self, nonce: str) -> str | None:
        """The app's page, with the nonce its style elements carry; None if it is not built."""
        try:
            text = (self._folder / "index.html").read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        return text.replace(NONCE_MARK, nonce)

    def asset(self, name: str) -> Asset | None:
        """A file of the page; None if there is no such file.

        Blocks on the first request for a file, which reads and compresses it: call it in a thread.
        """
        if name not in self._assets:
            found = self._read(name)
            if found is None:
                return None
            self._assets[name] = found
        return self._assets[name]

    def _read(self, name: str) -> Asset | None:
        folder = (self._folder / "assets").resolve()
        path = (folder / name).resolve() if _NAME.fullmatch(name) else None
        if path is None or path.parent != folder or path.suffix not in _TYPES:
            return None
        try:
            plain = path.read_bytes()
        except OSError:
            return None
        is_packed = path.suffix in _COMPRESSED_TYPES
        packed = None if is_packed else gzip.compress(plain, _GZIP_LEVEL, mtime=0)
        return Asset(media_type=_TYPES[path.suffix], plain=plain, packed=packed)
