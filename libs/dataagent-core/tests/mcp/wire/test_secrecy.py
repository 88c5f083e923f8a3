"""Planted secrets appear nowhere: not in logs, reasons, failures or what is shown of a spec."""

from __future__ import annotations

import io
import logging
from collections.abc import Generator
from pathlib import Path

import pytest

from dataagent_core.config import Settings
from dataagent_core.mcp.types import CallFailed
from dataagent_core.mcp.wire.connect import quiet_library
from dataagent_core.telemetry import configure_logging
from tests.waiting import WAIT_SECONDS, until

from ..conftest import Keep, Serve
from ..raw import RawServer, on_call, response
from ..running import Party, call, failure_of, raw_spec, spec_of

HEADER, ENV, QUERY, ARGUMENT, RESULT = (f"canary-{n}-zq" for n in range(5))
ALL = (HEADER, ENV, QUERY, ARGUMENT, RESULT)


@pytest.fixture
def log() -> Generator[io.StringIO]:
    """Everything that the program would log, at the lowest level, as it really logs it."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logging(Settings(log_level="DEBUG"), stream=stream)
    quiet_library()
    yield stream
    root.handlers[:] = before
    root.setLevel(level)


async def test_nothing_of_a_session_is_logged(steady: Party, keep: Keep, log: io.StringIO) -> None:
    """F13: headers, variables, arguments and results, while calls succeed and fail."""
    changes = {"env": {"KEY": ENV}} if steady.kind == "stdio" else {"headers": {"X-Key": HEADER}}
    connection = await keep(steady.spec(**changes)).ready()
    assert await call(connection, "echo", text=ARGUMENT + RESULT)
    await connection.call("fail", {"text": ARGUMENT}, timeout_seconds=WAIT_SECONDS)
    with pytest.raises(CallFailed):
        await connection.call("slow", {"seconds": 9, "mark": ARGUMENT}, timeout_seconds=0.1)
    await connection.aclose()
    logging.getLogger("after").debug("the log is on")
    assert "the log is on" in log.getvalue()
    assert [canary for canary in ALL if canary in log.getvalue()] == []
    assert not any(canary in repr(connection.spec) for canary in ALL)


async def test_nothing_of_a_broken_session_is_logged_or_reported(
    keep: Keep, log: io.StringIO
) -> None:
    """F13: the library logs what it cannot parse and URLs with their queries; we do not."""
    async with RawServer() as server:
        spec = raw_spec(
            server, url=f"{server.url}?api_key={QUERY}", headers={"Authorization": HEADER}
        )
        connection = await keep(spec).ready()
        for body in (
            b'{"result": "' + RESULT.encode() + b'"',
            b'{"jsonrpc":"2.0","id":3,"result":7}',
        ):
            server.on_request = on_call(response(200, body, content_type="application/json"))
            failed = await failure_of(connection, timeout_seconds=1, text=ARGUMENT)
            assert not any(canary in str(failed) for canary in (HEADER, QUERY, ARGUMENT))
        error = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad ' + HEADER.encode()
        server.on_request = on_call(response(200, error + b'"}}', content_type="application/json"))
        failed = await failure_of(connection, timeout_seconds=1)
        assert HEADER not in failed.failure.message
    await until(lambda: connection.status.state == "backoff")
    assert not any(canary in connection.status.reason for canary in ALL)
    assert [canary for canary in ALL if canary in log.getvalue()] == []


async def test_a_refusal_tells_no_credentials(
    serve: Serve, keep: Keep, tmp_path: Path, log: io.StringIO
) -> None:
    token = tmp_path / "token"
    token.write_text("another")
    server = await serve("http", "modern", TOKEN_FILE=str(token))
    kept = keep(spec_of(server, headers={"Authorization": f"Bearer {HEADER}"}))
    kept.connection.start()
    await until(lambda: kept.connection.status.state == "auth_required")
    assert kept.connection.status.reason == "The server wants other credentials (401)."
    assert HEADER not in log.getvalue()
