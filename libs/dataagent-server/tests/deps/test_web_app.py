"""The web app's files: packed, and never from outside their folder."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dataagent_server.deps.web_app import WebApp

SCRIPT = b"console.log('hello');\n" * 50


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text('<meta name="csp-nonce" content="__CSP_NONCE__">')
    (folder / "assets" / "main-4f9a0c.js").write_bytes(SCRIPT)
    (folder / "assets" / "font-1.woff2").write_bytes(b"wOF2")
    (folder / "assets" / "notes.txt").write_text("of a kind the app does not have")
    (folder / "assets" / "folder.js").mkdir()
    (tmp_path / "secret.js").write_text("secret")
    (folder / "secret.js").write_text("secret")
    (folder / "assets" / "link.js").symlink_to(tmp_path / "secret.js")
    return folder


def test_a_text_is_packed_and_a_font_is_not(built: Path) -> None:
    app = WebApp(built)
    script = app.asset("main-4f9a0c.js")
    assert script is not None
    assert (script.media_type, script.plain) == ("text/javascript", SCRIPT)
    assert script.packed is not None
    assert gzip.decompress(script.packed) == SCRIPT
    assert len(script.packed) < len(SCRIPT)
    font = app.asset("font-1.woff2")
    assert font is not None
    assert (font.media_type, font.plain, font.packed) == ("font/woff2", b"wOF2", None)


def test_a_file_is_packed_once(built: Path) -> None:
    app = WebApp(built)
    assert app.asset("main-4f9a0c.js") is app.asset("main-4f9a0c.js")


@pytest.mark.parametrize(
    "name",
    [
        *("../secret.js", "../index.html", "..", ".", "", "../../secret.js", "a/../secret.js"),
        *("%2e%2e/secret.js", "..\\secret.js", "link.js", "folder.js", "notes.txt", ".hidden.js"),
        *("main-4f9a0c.js\0", "main-4f9a0c.js\n", "x" * 5000 + ".js", "missing.js"),
    ],
)
def test_nothing_else_is_given(built: Path, name: str) -> None:
    assert WebApp(built).asset(name) is None


def test_an_absolute_path_is_no_name(built: Path) -> None:
    assert WebApp(built).asset(str(built / "secret.js")) is None


def test_a_page_carries_the_nonce_and_there_is_none_before_it_is_built(built: Path) -> None:
    assert WebApp(built).page("abc") == '<meta name="csp-nonce" content="abc">'
    assert WebApp(built / "elsewhere").page("abc") is None
    assert WebApp(built / "elsewhere").asset("main-4f9a0c.js") is None
