"""Fixtures: one server for all pages, and a reader's folder."""

from __future__ import annotations

import os
import sqlite3
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

import pytest

from tests.documents import sheet
from tests.end_to_end.server import free_port
from tests.homes import prepared_home
from tests.programs import programs
from tests.waiting import WAIT_SECONDS

_SALES = "region,amount,shop_id\nNorth,1200.50,1\nSouth,980,2\nNorth,1340.25,1\n"


@dataclass(frozen=True)
class DocsServer:
    """Where the pages are tried: a server with the keys that pages show."""

    port: int
    folder: Path

    def environment(self, home: Path) -> dict[str, str]:
        """What a reader who follows a page would have set."""
        return {
            "PATH": f"{programs().folder}:{os.environ['PATH']}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "USER": "ana",
            "URL": f"http://127.0.0.1:{self.port}",
            "KEY": "ana-key",
            "ADMIN": "admin-key",
            "DATAAGENT_API_KEY": "my-secret-key",
        }

    def here(self, text: str) -> str:
        """A page's text with the server's address in place of the usual one."""
        text = text.replace("your key", "my-secret-key").replace(
            "an administrator's key", "admin-key"
        )
        for host in ("127.0.0.1", "localhost"):
            text = text.replace(f"{host}:8000", f"127.0.0.1:{self.port}")
        return text


@pytest.fixture(scope="session")
def docs_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocsServer]:
    folder = tmp_path_factory.mktemp("desk")
    made = DocsServer(free_port(), folder)
    environment = made.environment(folder) | {
        "DATAAGENT_HOME": str(prepared_home(folder / "data")),
        "DATAAGENT_HOST": "127.0.0.1",
        "DATAAGENT_PORT": str(made.port),
        "DATAAGENT_MODEL": "offline",
        "DATAAGENT_MULTI_TENANT": "true",
        "DATAAGENT_API_KEYS": "alice:my-secret-key,ana:ana-key,service-key",
        "DATAAGENT_ADMIN_API_KEYS": "root:admin-key",
        "DATAAGENT_LOG_LEVEL": "WARNING",
    }
    log = folder / "server.log"
    server = programs().start(["dataagent-server", "serve"], env=environment, cwd=folder, log=log)
    _wait_until_ready(made.port, log)
    yield made
    server.kill()


def _wait_until_ready(port: int, log: Path) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/health/ready"):
                return
        except (URLError, ConnectionError):
            time.sleep(0.05)
    pytest.fail(f"The server is not ready.\n{log.read_text()}")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A reader's folder, with the files that pages mention, and a home."""
    prepared_home(tmp_path / "home/.dataagent")
    folder = tmp_path / "reader"
    folder.mkdir()
    (folder / "sales.csv").write_text(_SALES, encoding="utf-8")
    shops = sheet("shops", [("shop_id", "name"), (1, "Harbour"), (2, "Hill")])
    (folder / "shops.xlsx").write_bytes(shops)
    (folder / "notes.md").write_text("# Notes\n\nRevenue is net of tax.\n", encoding="utf-8")
    (folder / "report.sql").write_text("SELECT count(*) AS n FROM Genre\n", encoding="utf-8")
    (folder / "reports").mkdir()
    (folder / "reports/sales.csv").write_text(_SALES, encoding="utf-8")
    with sqlite3.connect(folder / "shop.sqlite") as shop:
        shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER)")
        shop.execute("INSERT INTO orders VALUES (1, 10), (2, 32)")
    shop.close()
    return folder
