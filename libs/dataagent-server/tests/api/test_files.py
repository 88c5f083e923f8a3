"""Files over HTTP: taken if they are what they say, never shown as a page, their owner's alone."""

from __future__ import annotations

import asyncio
import socket as sockets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httpx
import pytest

from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from conftest import LiveServer

MIB = 1024 * 1024
CSV = b"name,amount\nana,1\n"
NAMES = [
    "../../etc/passwd.txt",
    "..\\..\\boot.txt",
    "/etc/passwd.txt",
    "C:\\x\\a.txt",
    "a" * 4000 + ".txt",
    "a%0d%0aX-Evil: 1.txt",
    'quo"te.txt',
    "right\u202etxt.txt",
    "CON.txt",
    "销售.txt",
]
RAW_PATHS = [
    "../{id}/download",
    "..%2f{id}/download",
    "%2e%2e/{id}/download",
    "%252e%252e%252f{id}/download",
    "..;/{id}/download",
    "{id}%00/download",
    "{id}%2fdownload",
    "{id}/..%2f..%2fdataagent.db",
    "{id}/%2e%2e%2f%2e%2e%2fdataagent.db",
    "{id}/..%5c..%5cdataagent.db",
    "{id}/%c0%ae%c0%ae%c0%afetc%c0%afpasswd",
    "{id}/%2fetc%2fpasswd",
    "{id}/%ff%fe",
    "{id}/....//etc/passwd",
    "%2fetc%2fpasswd/download",
    "..%c0%af..%c0%afetc/content",
]


async def upload(
    client: httpx.AsyncClient, name: str = "a.csv", content: bytes = CSV
) -> httpx.Response:
    return await client.post("/api/files/upload", files={"file": (name, content)})


@requirement("R32.4", "R33.2", "S3.6a")
async def test_a_file_is_uploaded_listed_read_and_deleted(live: LiveServer) -> None:
    async with live.http() as client:
        answer = await upload(client, "销售 2024.csv")
        assert answer.status_code == 201, answer.text
        file = answer.json()
        assert file == {
            "file_id": file["file_id"],
            "filename": "销售 2024.csv",
            "size": len(CSV),
            "content_type": "text/csv",
            "url": f"/api/files/{file['file_id']}/download",
        }
        listed = (await client.get("/api/files")).json()
        assert listed["total"] == 1
        assert listed["items"][0] | file == listed["items"][0]
        assert listed["items"][0]["origin"] == "upload"
        saved = await client.get(file["url"])
        assert saved.content == CSV
        preview = (await client.get(f"/api/files/{file['file_id']}/content")).json()
        assert preview == {
            "file_id": file["file_id"],
            "filename": "销售 2024.csv",
            "content": CSV.decode(),
            "truncated": False,
        }
        assert (await client.delete(f"/api/files/{file['file_id']}")).status_code == 204
        assert (await client.get(file["url"])).status_code == 404
        assert (await client.get("/api/files")).json() == {"items": [], "total": 0}


@requirement("R33.4")
@pytest.mark.parametrize("name", NAMES)
async def test_no_name_leads_anywhere_or_breaks_a_header(live: LiveServer, name: str) -> None:
    async with live.http() as client:
        file = (await upload(client, name, b"x")).json()
        assert not set(file["filename"]) & set("/\\\r\n\0\u202e")
        saved = await client.get(file["url"])
        await client.delete(f"/api/files/{file['file_id']}")
    header = saved.headers["content-disposition"]
    assert header.startswith('attachment; filename="')
    assert "x-evil" not in saved.headers
    assert unquote(header.rpartition("''")[2]).endswith(".txt")


async def test_nothing_active_is_served_inline(live: LiveServer) -> None:
    made = await live.on_server(
        live.container.core.files.store.add_generated("alice", "x.html", b"<script>1</script>")
    )
    async with live.http() as client:
        for url in (f"/api/files/{made.file_id}/x.html", f"/api/files/{made.file_id}/download"):
            saved = await client.get(url)
            assert saved.status_code == 200
            assert saved.headers["content-type"] == "application/octet-stream"
            assert saved.headers["content-disposition"].startswith("attachment;")
            assert saved.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in saved.headers["content-security-policy"]
        assert (await client.get(f"/api/files/{made.file_id}/content")).status_code == 422
        assert (await client.get(f"/api/files/{made.file_id}/y.html")).status_code == 404
        assert (await upload(client, "a.svg", b"<svg onload=alert(1)>")).status_code == 422
        assert (await upload(client, "a.html", b"<script>")).status_code == 422
        await client.delete(f"/api/files/{made.file_id}")


@requirement("R32.4", "S10.4")
async def test_another_users_file_does_not_exist(live: LiveServer) -> None:
    async with live.http() as alice, live.http("bob") as bob, live.http(None) as nobody:
        file_id = (await upload(alice, "secret.txt", b"of alice")).json()["file_id"]
        for path in ("download", "content", "secret.txt"):
            assert (await bob.get(f"/api/files/{file_id}/{path}")).status_code == 404
            assert (await nobody.get(f"/api/files/{file_id}/{path}")).status_code == 401
        refused = await bob.delete(f"/api/files/{file_id}")
        assert (refused.status_code, refused.json()["error_code"]) == (404, "file_not_found")
        assert (await nobody.delete(f"/api/files/{file_id}")).status_code == 401
        assert (await upload(nobody)).status_code == 401
        assert (await bob.get("/api/files")).json()["total"] == 0
        assert (await alice.get(f"/api/files/{file_id}/download")).content == b"of alice"
        await alice.delete(f"/api/files/{file_id}")


@requirement("R33.4")
async def test_no_raw_path_reads_anything(live: LiveServer) -> None:
    async with live.http() as alice:
        file_id = (await upload(alice, "a.txt", b"mine")).json()["file_id"]
    async with live.http("bob") as bob:
        key = bob.headers["X-API-Key"]
    for template in RAW_PATHS:
        path = "/api/files/" + template.format(id=file_id)
        answer = await asyncio.to_thread(_raw, live.address, path, key)
        status = int(answer.split(b" ", 2)[1])
        assert 400 <= status < 500, (path, answer[:200])
        assert b"root:" not in answer
        assert b"SQLite format" not in answer


def _raw(address: tuple[str, int], path: str, key: str) -> bytes:
    """What the server answers to a path that no client has tidied up."""
    with sockets.create_connection(address, timeout=WAIT_SECONDS) as connection:
        request = f"GET {path} HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n"
        connection.sendall(f"{request}Connection: close\r\n\r\n".encode())
        received = b""
        while piece := connection.recv(65536):
            received += piece
        return received


@requirement("G13", "S2.4.2b", "S10.4", "S3.6a")
async def test_ten_megabytes_are_taken_and_one_byte_more_is_not(live: LiveServer) -> None:
    async with live.http() as client:
        taken = await upload(client, "a.txt", b"x" * (10 * MIB))
        assert taken.status_code == 201, taken.text
        await client.delete(f"/api/files/{taken.json()['file_id']}")
        for size in (10 * MIB + 1, 11 * MIB):
            refused = await upload(client, "a.txt", b"x" * size)
            assert refused.status_code == 413, refused.text
            assert refused.json()["error_code"] == "too_large"
        listed = (await client.get("/api/files")).json()
        assert all(each["size"] < 10 * MIB for each in listed["items"])


async def test_a_body_that_never_says_how_long_it_is_is_cut_off(live: LiveServer) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        for _ in range(300):
            yield b"x" * 65536

    form = {"Content-Type": "multipart/form-data; boundary=b"}
    async with live.http() as client:
        refused = await client.post("/api/files/upload", content=body(), headers=form)
    assert refused.status_code == 413


def part(headers: str, content: str = "x", end: str = "\r\n--b--\r\n") -> bytes:
    return f"--b\r\n{headers}\r\n\r\n{content}{end}".encode()


FILE = 'Content-Disposition: form-data; name="file"; filename="a.txt"'
BROKEN: dict[str, tuple[str, bytes]] = {
    "json": ("application/json", b"{}"),
    "no boundary": ("multipart/form-data", part(FILE)),
    "long boundary": (f"multipart/form-data; boundary={'b' * 300}", part(FILE)),
    "other boundary": ("multipart/form-data; boundary=c", part(FILE)),
    "nothing": ("multipart/form-data; boundary=b", b""),
    "no parts": ("multipart/form-data; boundary=b", b"--b--\r\n"),
    "cut short": ("multipart/form-data; boundary=b", part(FILE, end="")),
    "no name": ("multipart/form-data; boundary=b", part("Content-Disposition: form-data")),
    "no disposition": ("multipart/form-data; boundary=b", part("X-Y: z")),
    "a field": ("multipart/form-data; boundary=b", part(FILE.partition("; filename")[0])),
    "another field": ("multipart/form-data; boundary=b", part(FILE.replace("file", "x", 1))),
    "two files": (
        "multipart/form-data; boundary=b",
        part(FILE, end="\r\n") + part(FILE),
    ),
    "no filename": ("multipart/form-data; boundary=b", part(FILE.replace("a.txt", ""))),
    "empty file": ("multipart/form-data; boundary=b", part(FILE, "")),
    "huge header": ("multipart/form-data; boundary=b", part(f"X: {'y' * 100_000}")),
    "many headers": ("multipart/form-data; boundary=b", part("\r\n".join(["X: y"] * 1000))),
    "many parts": ("multipart/form-data; boundary=b", part(FILE, end="\r\n") * 200),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_form_that_does_not_fit_is_422_and_leaves_nothing(
    live: LiveServer, name: str
) -> None:
    content_type, body = BROKEN[name]
    async with live.http("bob") as client:
        answer = await client.post(
            "/api/files/upload", content=body, headers={"Content-Type": content_type}
        )
        assert answer.status_code == 422, answer.text
        assert answer.json()["error_code"] in ("bad_input", "bad_file")
        assert (await client.get("/api/files")).json()["total"] == 0
        used = (await client.get("/api/v1/users/bob/workspace")).json()
        assert (used["bytes_used"], used["files"]) == (0, 0)


async def test_a_caller_who_leaves_mid_upload_leaves_nothing(live: LiveServer) -> None:
    head = part(FILE, "x" * 700_000, end="")
    async with live.http("service") as service:
        key = service.headers["X-API-Key"]
    request = (
        f"POST /api/files/upload HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n"
        "X-User-Id: leaver\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        "Content-Length: 5000000\r\n\r\n"
    )
    with sockets.create_connection(live.address, timeout=WAIT_SECONDS) as connection:
        connection.sendall(request.encode() + head)
        folder = live.container.core.workspaces.get_user_workspace("leaver") / "uploads"
        await live.until(lambda: folder.is_dir() and any(folder.iterdir()))
    await live.until(lambda: not any(folder.iterdir()))
    async with asyncio.timeout(WAIT_SECONDS):  # the bytes are given back after the file is gone
        while await live.on_server(live.container.core.workspaces.usage("leaver")):
            await asyncio.sleep(0.01)


@requirement("R32.7", "R33.1")
async def test_the_workspaces_root_can_be_set(
    start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    server = start_server(workspace_root=tmp_path / "elsewhere")
    async with server.http() as client:
        file_id = (await upload(client)).json()["file_id"]
    kept = tmp_path / "elsewhere" / "alice" / "uploads" / f"{file_id}.csv"
    assert kept.read_bytes() == CSV


@requirement("R33.6")
async def test_a_full_workspace_takes_no_more(start_server: Callable[..., LiveServer]) -> None:
    server = start_server(workspace_quota=1000)
    async with server.http() as client:
        assert (await upload(client, "a.txt", b"x" * 900)).status_code == 201
        refused = await upload(client, "a.txt", b"x" * 200)
        assert (refused.status_code, refused.json()["error_code"]) == (429, "quota_exceeded")
        used: dict[str, Any] = (await client.get("/api/v1/users/alice/workspace")).json()
    assert used == {
        "user_id": "alice",
        "path": "workspaces/alice",
        "bytes_used": 900,
        "quota": 1000,
        "files": 1,
    }
