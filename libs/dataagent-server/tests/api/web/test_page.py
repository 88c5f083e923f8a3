"""The web app's page is at all its addresses, under a strict policy, and its files are packed."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dataagent_server.api.web.page import accepts_gzip
from dataagent_server.deps.web_app import WebApp
from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer

ADDRESSES = (
    *("/", "/login", "/chat/", "/chat/5d1f", "/chat/5d1f?view=plan", "/data", "/data/sample"),
    *("/data/sample/Invoice Line", "/mcp-servers", "/settings", "/admin", "/admin/users"),
)
SCRIPT = "export const answer = 42;\n" * 40
PAGE = """\
<!doctype html>
<meta name="csp-nonce" content="__CSP_NONCE__">
<script type="module" src="/assets/main-1.js"></script>
"""


@pytest.fixture(scope="module")
def app_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web")
    (folder / "assets").mkdir()
    (folder / "index.html").write_text(PAGE)
    (folder / "assets" / "main-1.js").write_text(SCRIPT)
    return folder


@pytest.fixture
def site(live: LiveServer, app_folder: Path) -> LiveServer:
    live.container.web = WebApp(app_folder)
    return live


def directives(policy: str) -> dict[str, str]:
    pairs = (each.strip().partition(" ") for each in policy.split(";"))
    return {name: value for name, _, value in pairs}


async def test_every_address_of_the_app_gives_the_page_without_a_login(site: LiveServer) -> None:
    async with site.http(None) as browser:
        for address in ADDRESSES:
            page = await browser.get(address)
            assert page.status_code == 200, address
            assert page.headers["Content-Type"] == "text/html; charset=utf-8"
            assert page.headers["Cache-Control"] == "no-cache"
            assert "/assets/main-1.js" in page.text


async def test_the_policy_is_strict_and_its_nonce_is_the_pages_own(site: LiveServer) -> None:
    nonces: set[str] = set()
    async with site.http(None) as browser:
        for _ in range(3):
            page = await browser.get("/chat/5d1f")
            found = re.search(r'name="csp-nonce" content="([\w-]{20,})"', page.text)
            assert found is not None
            nonces.add(found.group(1))
            assert directives(page.headers["Content-Security-Policy"]) == {
                "default-src": "'none'",
                "script-src": "'self'",
                "style-src": f"'self' 'nonce-{found.group(1)}'",
                "img-src": "'self' data: blob:",
                "font-src": "'self'",
                "connect-src": "'self'",
                "base-uri": "'none'",
                "form-action": "'self'",
                "frame-ancestors": "'none'",
            }
            assert page.headers["X-Content-Type-Options"] == "nosniff"
            assert page.headers["Referrer-Policy"] == "no-referrer"
            assert "camera=()" in page.headers["Permissions-Policy"]
    assert len(nonces) == 3


async def test_a_file_is_packed_for_who_takes_it_and_kept_for_ever(site: LiveServer) -> None:
    async with site.http(None) as browser:
        url = "/assets/main-1.js"
        for accepted, is_packed in {"gzip, br": True, "identity": False, "gzip;q=0": False}.items():
            request = browser.build_request("GET", url, headers={"Accept-Encoding": accepted})
            answer = await browser.send(request, stream=True)
            sent = b"".join([part async for part in answer.aiter_raw()])
            assert answer.status_code == 200
            assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
            assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
            assert answer.headers["Vary"] == "Accept-Encoding"
            assert answer.headers.get("Content-Encoding") == ("gzip" if is_packed else None)
            assert (gzip.decompress(sent) if is_packed else sent) == SCRIPT.encode()


@requirement("R16.4")
async def test_what_is_not_the_apps_stays_a_json_404(site: LiveServer) -> None:
    async with site.http(None) as browser:
        for path in (
            *("/api/nothing", "/api/v1/nothing", "/nothing", "/assets/none.js", "/assets/"),
            *("/assets/../index.html", "/assets/%2e%2e/index.html", "/assets/..%2findex.html"),
            *("/assets/%2e%2e%2f%2e%2e%2fmain.py", "/assets/..%5cindex.html", "/assets/%00"),
            *("/static/chat.js", "/index.html", "/web/index.html", "/assets/main-1.js/more"),
        ):
            answer = await browser.get(path)
            assert (answer.status_code, answer.json()["error_code"]) == (404, "not_found"), path


async def test_before_the_app_is_built_the_page_says_how(
    start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    server = start_server()
    server.container.web = WebApp(tmp_path / "none")
    async with server.http(None) as browser:
        for address in ("/", "/chat/5d1f"):
            page = await browser.get(address)
            assert page.status_code == 503
            assert "make web" in page.text
            assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert (await browser.get("/api/v1/health")).status_code == 200


@pytest.mark.parametrize(
    ("accepted", "is_accepted"),
    [
        ("gzip", True),
        ("GZIP", True),
        ("br, gzip;q=0.5", True),
        ("gzip;q=0.001", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0, br", False),
        ("br", False),
        ("", False),
    ],
)
def test_gzip_is_sent_to_clients_that_accept_it(accepted: str, is_accepted: bool) -> None:
    assert accepts_gzip(accepted) is is_accepted


async def test_a_browser_that_is_lost_gets_the_page_and_a_program_its_error(
    site: LiveServer,
) -> None:
    html = {"Accept": "text/html,application/xhtml+xml"}
    async with site.http(None) as browser:
        page = await browser.get("/nowhere/at/all", headers=html)
        assert page.status_code == 404
        assert "/assets/main-1.js" in page.text
        assert "Content-Security-Policy" in page.headers
        for address, headers in (("/nowhere", {}), ("/api/nowhere", html), ("/assets/x.js", html)):
            error = await browser.get(address, headers=headers)
            assert error.status_code == 404
            assert error.json()["error_code"] == "not_found"
