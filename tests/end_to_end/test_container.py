"""The server in a container as `infra/` starts it: only `/data` and `/tmp` can be written."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import docker
import httpx
import pytest

from scripts.tree import ROOT
from tests.docker import docker_engine
from tests.end_to_end.server import free_port
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.slow

USER = 10001
KEY = "a-key-for-this-test-only-0123456789"
PROGRAM = "from dataagent_server.cli import main; main(['serve'])"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    os.chown(folder, USER, USER)  # the container's user is none of this machine's
    return folder


@pytest.fixture
def address(data: Path) -> Generator[str]:
    libraries = [str(path.parent) for path in ROOT.glob("libs/*/pyproject.toml")]
    ours = [*libraries, str(ROOT / "skills"), str(ROOT / "packages")]
    port = free_port()
    with docker_engine() as engine:
        client = cast(Any, docker.DockerClient(base_url=engine.url))
        started = client.containers.run(
            engine.image, ["/usr/local/bin/python3", "-c", PROGRAM],
            detach=True, user=f"{USER}:{USER}", network_mode="host", read_only=True,
            tmpfs={"/tmp": "size=1g"}, cap_drop=["ALL"], security_opt=["no-new-privileges:true"],
            volumes=[f"{source}:{target}:ro" for source, target in engine.binds.items()]
            + [*(f"{path}:{path}:ro" for path in ours), f"{data}:/data"],
            environment={
                "PYTHONPATH": ":".join(["/opt/site", *libraries]),
                "PYTHONDONTWRITEBYTECODE": "1",
                "DATAAGENT_HOME": "/data",
                "DATAAGENT_PORT": str(port),
                "DATAAGENT_HOST": "127.0.0.1",
                "DATAAGENT_API_KEYS": f"ann:{KEY}",
            },
        )  # fmt: skip
        try:
            wait_until_ready(started, f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}"
        finally:
            started.remove(force=True)
            client.close()


def wait_until_ready(container: Any, address: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{address}/api/v1/health/ready").is_success:
                return
        except httpx.TransportError:
            pass
        container.reload()
        assert container.status != "exited", container.logs().decode()
        time.sleep(0.2)
    pytest.fail(container.logs().decode())


def customers(data: Path) -> int:
    with sqlite3.connect(data / "sample/chinook.sqlite") as connection:
        return connection.execute("SELECT COUNT(*) FROM Customer").fetchone()[0]


def test_it_answers_with_nothing_to_write_to_but_its_data(address: str, data: Path) -> None:
    with httpx.Client(base_url=address, headers={"X-API-Key": KEY}, timeout=WAIT_SECONDS) as client:
        said = client.post("/api/v1/chat", json={"message": "How many customers are there?"})
        answer = said.raise_for_status().json()
        assert answer["status"] == "done", answer
        figures = answer["events"][-1]["data"]["metadata"]["figures"]
        assert figures["verified"][0]["text"] == str(customers(data))
        sent = client.post("/api/files/upload", files={"file": ("a.csv", b"x\n1\n2\n")})
        assert sent.is_success, sent.text
