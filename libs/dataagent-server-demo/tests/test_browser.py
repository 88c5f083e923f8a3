"""The demo as people have it: `streamlit run`, a real server, Chromium.

What is done in the browser stands in `web/e2e/tools/demo.ts`. `DATAAGENT_TEST_PICTURES` names a
folder for pictures of the pages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import dataagent_server_demo
from tests.end_to_end.server import KEY, Server, free_port
from tests.requirements import requirement
from tests.source import ROOT
from tests.standins.mcp_server import http_server
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.slow

APP = Path(dataagent_server_demo.__file__).with_name("app.py")


@contextmanager
def streamlit_run(server_url: str, log: Path) -> Generator[str]:
    """The demo of a server, as its README says to start it; where it listens."""
    port = free_port()
    words = ["-m", "streamlit", "run", str(APP), "--server.port", str(port)]
    words += ["--server.address", "127.0.0.1", "--server.headless", "true"]
    env = {**os.environ, "DATAAGENT_SERVER_URL": server_url, "DATAAGENT_API_KEY": KEY}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *words], env=env, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            _wait(f"http://127.0.0.1:{port}/_stcore/health", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(WAIT_SECONDS)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.2)


@requirement("R36.1", "R36.2", "R36.3", "R36.4", "R36.5", "R36.6", "R36.7", "P55", "P56")
def test_the_demo_works_in_a_browser(start: Callable[..., Server], tmp_path: Path) -> None:
    scripted = start(DATAAGENT_ALLOW_PRIVATE_HOSTS="127.0.0.1")
    offline = start(DATAAGENT_MODEL="offline", DATAAGENT_SAMPLE_DATA="true")
    with (
        http_server() as mcp,
        streamlit_run(scripted.url, tmp_path / "scripted.log") as first,
        streamlit_run(offline.url, tmp_path / "offline.log") as second,
        streamlit_run(f"http://127.0.0.1:{free_port()}", tmp_path / "alone.log") as third,
    ):
        addresses = {
            "DATAAGENT_DEMO_SCRIPTED": first,
            "DATAAGENT_DEMO_OFFLINE": second,
            "DATAAGENT_DEMO_ALONE": third,
            "DATAAGENT_DEMO_MCP": mcp.url,
            "DATAAGENT_E2E_SCRIPTED": scripted.url,
            "DATAAGENT_E2E_OFFLINE": offline.url,
        }
        pictures = os.environ.get("DATAAGENT_TEST_PICTURES")
        if pictures:
            addresses["DATAAGENT_DEMO_PICTURES"] = pictures
        result = subprocess.run(
            [_npm(), "exec", "--no", "--", "playwright", "test", "--project=demo"],
            cwd=ROOT / "web",
            env={**os.environ, **addresses},
            capture_output=True,
            text=True,
            check=False,
        )
    assert result.returncode == 0, result.stdout + result.stderr
    for log in tmp_path.glob("*.log"):
        assert "Traceback" not in log.read_text(), log.read_text()


def _npm() -> str:
    found = shutil.which("npm")
    assert found is not None, "The browser's tests need npm."
    return found
