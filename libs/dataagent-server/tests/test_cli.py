"""The commands as an operator types them: what they say, what they keep, how they fail."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, delete, update

from dataagent_core.mcp.servers.registration import NewServer
from dataagent_core.mcp.servers.server_store import ServerStore
from dataagent_core.storage import open_database
from dataagent_core.storage.migrate import revision_of
from dataagent_core.storage.tables import audit_log
from dataagent_server import cli
from tests.requirements import requirement
from tests.services import fresh_database
from tests.tiers import SQL_STORES
from tests.waiting import WAIT_SECONDS

ROOT = Path(__file__).parents[3]


class Shell:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[object, str]:
        """The exit status (or the last words) and what went to stdout."""
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        return ended.value.code, self._capsys.readouterr().out


@pytest.fixture
def shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Generator[Shell]:
    """A shell on a data directory of its own; logging and the umask are as before afterwards."""
    monkeypatch.setenv("DATAAGENT_HOME", str(tmp_path / "home"))
    root = logging.getLogger()
    handlers, level, umask = root.handlers[:], root.level, os.umask(0o022)
    yield Shell(capsys)
    os.umask(umask)
    root.handlers[:] = handlers
    root.setLevel(level)


def audit_of(shell: Shell) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shell("audit", "list", "--json")[1].splitlines()]


# -- users and keys -------------------------------------------------------------------------


@pytest.mark.slow
def test_users_and_keys_are_managed_from_the_command_line(shell: Shell) -> None:
    assert shell("migrate") == (0, "tables brought up to date\n")
    assert shell("migrate") == (0, "tables are up to date\n")
    code, user_id = shell("user", "add", "dora", "--no-password", "--role", "admin")
    assert code == 0
    assert shell("user", "add", "vera", "--no-password", "--role", "admin")[0] == 0
    assert shell("user", "list")[1].startswith(f"{user_id.strip()}  dora  admin  active\n")
    code, key = shell("key", "add", "dora", "--name", "laptop")
    assert key.startswith("dak_")
    listed = shell("key", "list", "dora")[1]
    assert "laptop" in listed
    assert "made by command line (" in listed
    assert key.strip() not in listed
    assert shell("key", "revoke", "dora", listed.split()[0])[0] == 0
    assert shell("key", "list", "dora")[1] == ""
    assert shell("user", "link", "dora")[1].startswith("/login?token=")
    assert shell("user", "disable", "dora")[0] == 0
    assert "dora  admin  disabled\n" in shell("user", "list")[1]
    assert shell("user", "enable", "dora")[0] == 0
    assert shell("user", "delete", "dora")[0] == 0
    code, _ = shell("user", "delete", "dora")
    assert "There is no user 'dora'" in str(code)
    assert "\nhint: " in str(code)
    done = [(row["action"], row["via"], row["target"]) for row in reversed(audit_of(shell))]
    dora = user_id.strip()
    assert [each for each in done if each[2] == dora] == [
        (action, "command_line", dora)
        for action in (
            "create_user",
            "create_api_key",
            "revoke_api_key",
            "create_login_link",
            "set_user_status",
            "set_user_status",
            "delete_user",
        )
    ]


def test_mcp_servers_and_credentials_of_a_user_go_with_the_account(
    shell: Shell, tmp_path: Path
) -> None:
    users = [shell("user", "add", name, "--no-password")[1].strip() for name in ("dora", "vera")]
    url = f"sqlite:///{tmp_path / 'home' / 'dataagent.db'}"

    async def with_servers(act: Callable[[ServerStore], Awaitable[frozenset[str]]]) -> set[str]:
        database = open_database(url)
        try:
            return {*await act(ServerStore(database))}
        finally:
            await database.close()

    async def add(servers: ServerStore) -> frozenset[str]:
        for user_id in users:
            own = NewServer(
                name="notes",
                scope="user",
                user_id=user_id,
                url="https://mcp.example",
                headers={"Authorization": SecretStr("Bearer secret")},
            )
            await servers.create(own, by=user_id)
        return await servers.owners()

    assert asyncio.run(with_servers(add)) == {*users}
    assert shell("user", "disable", "dora")[0] == 0
    assert asyncio.run(with_servers(ServerStore.owners)) == {*users}
    assert shell("user", "delete", "dora")[0] == 0
    assert asyncio.run(with_servers(ServerStore.owners)) == {users[1]}


def test_passwords_come_from_stdin_and_are_nowhere_else(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse battery\n"))
    assert shell("user", "add", "dora")[0] == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("staple tractor 12\n"))
    assert shell("user", "password", "dora")[0] == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    code, _ = shell("user", "add", "eva")
    assert "cannot be empty" in str(code)
    with pytest.raises(SystemExit) as refused:
        cli.main(["user", "add", "eva", "--password", "seen by all"])
    assert refused.value.code == 2
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in (b"correct horse", b"staple tractor"):
        assert secret not in kept


# -- audit ----------------------------------------------------------------------------------


def tampered(home: Path, unit: Callable[[Connection], object]) -> None:
    async def work() -> None:
        database = open_database(f"sqlite:///{home / 'dataagent.db'}")
        try:
            await database.write(unit)
        finally:
            await database.close()

    asyncio.run(work())


def test_audit_verify_names_the_first_bad_row_and_exits_with_1(
    shell: Shell, tmp_path: Path
) -> None:
    code, _ = shell("audit", "verify")
    assert "dataagent-server migrate" in str(code)
    for name in ("dora", "vera", "nora"):
        shell("user", "add", name, "--no-password")
    code, said = shell("audit", "verify")
    assert (code, said.startswith("intact: 3 rows")) == (0, True)
    change = update(audit_log).where(audit_log.c.position == 2).values(outcome="denied")
    tampered(tmp_path / "home", lambda connection: connection.execute(change))
    code, said = shell("audit", "verify")
    assert (code, said) == (1, "BROKEN at position 2: row 2 was changed\n")
    code, said = shell("audit", "verify", "--json")
    assert code == 1
    assert json.loads(said)["first_bad"] == 2
    remove = delete(audit_log).where(audit_log.c.position == 1)
    tampered(tmp_path / "home", lambda connection: connection.execute(remove))
    assert json.loads(shell("audit", "verify", "--json")[1])["first_bad"] == 1


def test_audit_list_shows_the_newest_first_and_takes_conditions(shell: Shell) -> None:
    for name in ("dora", "vera"):
        shell("user", "add", name, "--no-password")
    shell("key", "add", "dora")
    code, said = shell("audit", "list")
    assert code == 0
    assert [line.split()[0] for line in said.splitlines()] == ["4", "3", "2", "1"]
    assert [line.split()[3] for line in said.splitlines()[:2]] == [
        "api_key_created_by_other",
        "create_api_key",
    ]
    assert len(shell("audit", "list", "--action", "create_user")[1].splitlines()) == 2
    assert len(shell("audit", "list", "--limit", "1")[1].splitlines()) == 1
    assert shell("audit", "list", "--to", "2020-01-01")[1] == ""
    assert len(shell("audit", "list", "--from", "2020-01-01T00:00Z")[1].splitlines()) == 4
    code, _ = shell("audit", "list", "--from", "yesterday")
    assert "is not a time" in str(code)


# -- tables ---------------------------------------------------------------------------------


@pytest.fixture(params=SQL_STORES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with fresh_database(request.param, tmp_path) as url:
        yield url


@requirement("S6.3", "S9.2")
def test_migrate_goes_up_down_and_up_again(
    shell: Shell, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAAGENT_DATABASE_URL", database_url)
    assert shell("migrate", "--to", "0002")[1] == "tables are at version 0002\n"
    assert shell("migrate")[1] == "tables brought up to date\n"
    assert shell("migrate", "--to", "0002")[1] == "tables are at version 0002\n"
    assert shell("migrate", "--to", "0002")[1] == "tables are at version 0002\n"
    assert shell("migrate")[1] == "tables brought up to date\n"
    code, _ = shell("migrate", "--to", "9999")
    assert "There are: " in str(code)


@requirement("S6.3")
def test_alembic_upgrades_from_the_infra_folder(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path / 'made.db'}"
    done = subprocess.run(
        [sys.executable, "-m", "alembic", "upgrade", "head"],
        cwd=ROOT / "infra",
        env={**os.environ, "DATAAGENT_DATABASE_URL": place},
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr

    async def revision() -> str | None:
        database = open_database(place)
        try:
            return await revision_of(database)
        finally:
            await database.close()

    assert asyncio.run(revision()) is not None


def test_the_data_directory_can_be_named_before_the_command(shell: Shell, tmp_path: Path) -> None:
    assert shell("--home", str(tmp_path / "other"), "migrate")[0] == 0
    assert (tmp_path / "other" / "dataagent.db").exists()


# -- failing --------------------------------------------------------------------------------


def test_help_is_there_for_every_command(shell: Shell) -> None:
    for command in ((), ("serve",), ("migrate",), ("user",), ("key",), ("audit",), ("doctor",)):
        code, text = shell(*command, "--help")
        assert code == 0
        assert "usage: dataagent-server" in text


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["serve"], {"DATAAGENT_PORT": "many"}),
        (["serve", "--port", "many"], {}),
        (["user", "list"], {"DATAAGENT_DATABASE_URL": "postgresql://u@127.0.0.1:1/d"}),
        (["migrate"], {"DATAAGENT_HOME": "/proc/nowhere"}),
        (["migrate"], {"DATAAGENT_DATABASE_URL": "nonsense"}),
        (["user", "add", "x"], {}),
        (["key", "list", "nobody"], {}),
        (["nonsense"], {}),
        (["user", "add"], {}),
        (["serve", "--nonsense"], {}),
    ],
    ids=str,
)
@pytest.mark.usefixtures("shell")
def test_what_goes_wrong_is_a_sentence_and_a_hint(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    environment: dict[str, str],
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("a password\n"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    said = f"{ended.value.code}{capsys.readouterr().err}"
    assert ended.value.code not in (0, None)
    assert "\nhint: " in said
    assert "Traceback" not in said


def test_a_failure_nobody_thought_of_is_a_sentence_too(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> int:
        raise RuntimeError("inside")

    monkeypatch.setattr("dataagent_server.commands.run", broken)
    code, _ = shell("user", "list")
    assert str(code).startswith("dataagent-server: Internal error (RuntimeError).")


# -- doctor ---------------------------------------------------------------------------------


def levels(report: str) -> dict[str, str]:
    found = [json.loads(line) for line in report.splitlines()]
    return {each["what"]: each["level"] for each in found}


@pytest.fixture
def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def test_the_doctor_finds_a_server_fit_to_start(shell: Shell, free_port: int) -> None:
    assert shell("migrate")[0] == 0
    code, report = shell("doctor", "--port", str(free_port), "--json")
    assert code == 0, report
    assert levels(report) == {
        "configuration": "ok",
        "data directory": "ok",
        "database": "ok",
        "tables": "ok",
        "redis": "ok",
        "model": "warn",  # the offline one
        "sandbox": "ok",
        "authentication": "ok",
        "port": "ok",
    }
    code, text = shell("doctor", "--port", str(free_port))
    assert "warn  model: offline" in text
    assert "\n      hint: " in text


def test_the_doctor_says_what_is_wrong_and_how_to_mend_it(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir(mode=0o755)
    monkeypatch.setenv("DATAAGENT_DATABASE_URL", "postgresql://u:hunter22@127.0.0.1:1/d")
    monkeypatch.setenv("DATAAGENT_REDIS_URL", "redis://:hunter33@127.0.0.1:1/0")
    monkeypatch.setenv("DATAAGENT_MODEL", "nonsense:model")
    monkeypatch.setenv("DATAAGENT_ENABLE_SHELL", "true")
    monkeypatch.setenv("DATAAGENT_SANDBOX", "off")
    monkeypatch.setenv("DATAAGENT_AUTH_DISABLED", "true")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        taken = str(listening.getsockname()[1])
        code, report = shell("doctor", "--port", taken, "--json")
    assert code == 1
    assert levels(report) == {
        "configuration": "ok",
        "data directory": "warn",
        "database": "fail",
        "tables": "fail",
        "redis": "fail",
        "model": "fail",
        "sandbox": "warn",
        "authentication": "warn",
        "port": "fail",
    }
    assert "hunter" not in report


def test_the_doctor_names_a_setting_that_does_not_fit(shell: Shell) -> None:
    code, report = shell("doctor", "--port", "many")
    assert code == 1
    assert report.startswith("fail  configuration: ")
    assert "DATAAGENT_PORT" in report


def test_the_doctor_asks_redis(
    shell: Shell, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.services import redis_url

    monkeypatch.setenv("DATAAGENT_REDIS_URL", redis_url())
    report = shell("doctor", "--port", str(free_port), "--json")[1]
    assert levels(report)["redis"] == "ok"
