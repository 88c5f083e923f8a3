"""Which hosts a session reaches, through which proxy, with whose headers."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dataagent_core.mcp.connections.connection import ServerConnection
from dataagent_core.mcp.types import ServerSpec
from dataagent_core.mcp.wire.http import tls_context
from dataagent_core.network import HostPolicy
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS, until

from ..conftest import Keep
from ..raw import RawServer, peer
from ..running import Kept, Party, call, raw_spec


class Names:
    """Answers for names, and remembers that it was asked."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked = 0

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return [self._answers[min(self.asked, len(self._answers)) - 1]]


async def reason_of(spec: ServerSpec, hosts: HostPolicy) -> str:
    kept = Kept(spec, hosts)
    kept.connection.start()
    try:
        await until(lambda: kept.connection.status.state == "backoff")
        return kept.connection.status.reason
    finally:
        await kept.connection.aclose()
        hosts.close()


@pytest.mark.parametrize("transport", ["streamable_http", "sse", "auto"])
async def test_an_address_that_is_not_allowed_is_never_dialled(transport: str) -> None:
    """By address, by name, and by a name that looked good when it was registered."""
    async with RawServer() as server:
        by_address = raw_spec(server, transport=transport)
        assert "closed to tools" in await reason_of(by_address, HostPolicy())
        by_name = raw_spec(server, transport=transport, url=f"http://inside.test:{server.port}/mcp")
        names = Names("127.0.0.1")
        assert "closed to tools" in await reason_of(by_name, HostPolicy(lookup=names))
        assert names.asked >= 1
        assert server.asked == []


async def test_the_address_that_was_checked_is_the_one_that_is_dialled() -> None:
    """A name leads where the check resolved it; a second answer leads nowhere."""
    async with RawServer() as server:
        names = Names("127.0.0.1", "127.0.0.1", "127.0.0.1", "169.254.169.254")
        hosts = HostPolicy([f"inside.test:{server.port}"], lookup=names)
        kept = Kept(raw_spec(server, url=f"http://inside.test:{server.port}/mcp"), hosts)
        try:
            connection = await kept.ready()
            await connection.call("echo", {}, timeout_seconds=WAIT_SECONDS)
            assert {asked.headers["host"] for asked in server.asked} == {
                f"inside.test:{server.port}"
            }
        finally:
            await kept.connection.aclose()
            hosts.close()


@requirement("M1.1")
async def test_a_proxy_is_used_if_it_is_set_and_allowed(keep: Keep) -> None:
    """The request goes to the proxy, with the server's whole address and the proxy's own login."""
    async with RawServer() as proxy:
        url = f"http://user:word@127.0.0.1:{proxy.port}"
        spec = raw_spec(proxy, url="http://far.test/mcp", proxy_url=url)
        connection = await keep(spec).ready()
        await connection.call("echo", {}, timeout_seconds=WAIT_SECONDS)
        assert {asked.target for asked in proxy.asked} == {"http://far.test/mcp"}
        assert {asked.headers["proxy-authorization"] for asked in proxy.asked} == {
            "Basic dXNlcjp3b3Jk"
        }
        seen = len(proxy.asked)
        reason = await reason_of(spec, HostPolicy())
        assert "closed to tools" in reason
        assert "word" not in reason
        assert len(proxy.asked) == seen


async def test_a_proxy_of_the_environment_is_not_used(
    keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with RawServer() as server, RawServer() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        await keep(raw_spec(server)).ready()
        assert proxy.asked == []


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


async def test_certificates_are_checked_against_the_name_with_one_context_for_all(
    tmp_path: Path,
) -> None:
    """Dialled by address, verified by name; the wrong name is refused."""
    assert tls_context() is tls_context()
    cert, key = certificate(tmp_path, "good.test")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    tls_context().load_verify_locations(cert)
    async with RawServer(tls=context) as server:
        allowed = ["good.test", "bad.test"]
        hosts = HostPolicy(allowed, lookup=Names("127.0.0.1"))
        kept = Kept(raw_spec(server, url=f"https://good.test:{server.port}/mcp"), hosts)
        try:
            await kept.ready()
        finally:
            await kept.connection.aclose()
            hosts.close()
        seen = len(server.asked)
        bad = raw_spec(server, url=f"https://bad.test:{server.port}/mcp")
        assert await reason_of(bad, HostPolicy(allowed, lookup=Names("127.0.0.1")))
        assert len(server.asked) == seen


async def test_a_secret_server_is_reached_through_a_secret_proxy(tmp_path: Path) -> None:
    """One secret connection inside the other, each with the certificate of its own name."""
    cert, key = certificate(tmp_path, "secret.test")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    tls_context().load_verify_locations(cert)
    lines: list[str] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
        finally:
            writer.transport.abort()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append((await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[0])
        writer.write(b"HTTP/1.1 200 X\r\n\r\n")
        there = await asyncio.open_connection("127.0.0.1", server.port)
        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

    async with RawServer(tls=context) as server, peer(connect, context) as port:
        url = f"https://secret.test:{server.port}/mcp"
        hosts = HostPolicy(["secret.test"], lookup=Names("127.0.0.1"))
        kept = Kept(raw_spec(server, url=url, proxy_url=f"https://secret.test:{port}"), hosts)
        try:
            assert await call(await kept.ready(), "echo") == "raw"
        finally:
            await kept.connection.aclose()
            hosts.close()
    assert set(lines) == {f"CONNECT secret.test:{server.port} HTTP/1.1"}


@requirement("P49")
@pytest.mark.parametrize("kind", ["sse", "http"])
async def test_two_users_headers_never_mix_on_one_server(
    kind: str, steady: Party, keep: Keep
) -> None:
    """Each call shows the headers it came with, while both users call at once."""
    users: dict[str, ServerConnection] = {}
    for user in ("ann", "ben"):
        spec = steady.spec(headers={"Authorization": f"Bearer {user}", f"X-Only-{user}": "1"})
        users[user] = await keep(spec).ready()

    async def seen_by(user: str) -> dict[str, str]:
        return json.loads(await call(users[user], "headers"))

    order = ["ann", "ben"] * 20
    found = await asyncio.gather(*(seen_by(user) for user in order))
    for user, headers in zip(order, found, strict=True):
        other = "ben" if user == "ann" else "ann"
        assert headers["authorization"] == f"Bearer {user}"
        assert headers[f"x-only-{user}"] == "1"
        assert f"x-only-{other}" not in headers
