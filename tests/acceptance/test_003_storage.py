"""Seed 003: what is kept where in PostgreSQL, its migrations, and the programs of a developer."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import yaml

import dataagent_core
from dataagent_core.storage.database import normalise_url
from tests.acceptance.states import states
from tests.acceptance.web_server import (
    PASSWORD,
    Web,
    chat,
    conversation,
    first_start,
    ok,
    sent_events,
    text,
    wait_until,
)
from tests.end_to_end.server import free_port
from tests.services import fresh_database
from tests.source import ROOT

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Stored:
    """A server on PostgreSQL, and its database as one looks into it."""

    web: Web
    database: str

    def select(self, statement: str, *values: object) -> Rows:
        with psycopg.connect(self.database, autocommit=True) as found:
            return found.execute(statement.encode(), values).fetchall()

    def columns(self, table: str) -> set[str]:
        """The names of a table's (or a view's) columns."""
        return columns(self.database, table)


def columns(database: str, table: str) -> set[str]:
    statement = "SELECT column_name FROM information_schema.columns WHERE table_name = %s"
    with psycopg.connect(database) as found:
        return {row[0] for row in found.execute(statement, (table,)).fetchall()}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stored]:
    folder = tmp_path_factory.mktemp("postgres")
    with (
        fresh_database("postgres", folder) as url,
        first_start(folder / "server", DATABASE_URL=url) as web,
    ):
        yield Stored(web, url)


# -- 6.1: the tables ------------------------------------------------------------------------


@states("003 §6.1", "实现：PostgreSQL")
@states("003 §9.1", "DATABASE_URL PostgreSQL 连接字符串")
@states("003 §1", "数据库：PostgreSQL（用户、对话、LangGraph checkpoints）")
def test_the_product_keeps_everything_in_postgresql(stored: Stored) -> None:
    client = stored.web.person("dora")
    made = conversation(client, title="In PostgreSQL")
    assert text(chat(client, "!echo kept", made["thread_id"])) == "kept"
    assert ("dora",) in stored.select("SELECT username FROM users")
    assert ("kept",) in stored.select("SELECT content FROM messages")
    kept = stored.select("SELECT 1 FROM checkpoints WHERE thread_id = %s", made["id"])
    assert kept
    assert not (stored.web.home / "dataagent.db").exists()


@states(
    "003 §6.1",
    "users.username",
    "users.password_hash",
    "users.role",
    "users.status",
    "users.created_at",
)
def test_users_have_these_columns(stored: Stored) -> None:
    assert {
        *("username", "password_hash", "role", "status", "created_at"),
    } <= stored.columns("users")


@states("003 §6.1", "users.id")
def test_a_users_column_is_called_id(stored: Stored) -> None:
    assert "id" in stored.columns("users")
    me = ok(stored.web.admin.get("/api/auth/me"))
    assert (me["id"],) in [(str(row[0]),) for row in stored.select("SELECT id FROM users")]


@states("003 §6.1 (departs)", "a conversation is a session with a title; one table, two views")
def test_a_conversation_is_a_row_of_sessions(stored: Stored) -> None:
    client = stored.web.person("dora")
    made = conversation(client, title="A row")
    me = ok(client.get("/api/auth/me"))["id"]
    rows = stored.select(
        "SELECT thread_id, user_id, title FROM sessions WHERE session_id = %s", made["id"]
    )
    assert rows == [(made["thread_id"], me, "A row")]
    with stored.web.key("carl-key") as carl:
        session = ok(carl.post("/api/v1/sessions", json={}))
        listed = [each["id"] for each in ok(carl.get("/api/conversations"))["items"]]
        assert session["session_id"] in listed


@states(
    "003 §6.1",
    "conversations: id, thread_id, user_id, title, created_at, updated_at, is_deleted",
)
def test_conversations_have_these_columns(stored: Stored) -> None:
    assert stored.columns("conversations") == {
        *("id", "thread_id", "user_id", "title", "created_at", "updated_at", "is_deleted"),
    }
    client = stored.web.person("dora")
    made = conversation(client, title="Before")
    one = f"/api/conversations/{made['id']}"
    statement = (
        "SELECT thread_id, user_id, title, is_deleted, created_at < updated_at"
        " FROM conversations WHERE id = %s"
    )
    me = ok(client.get("/api/auth/me"))["id"]
    ok(client.patch(one, json={"title": "After"}))
    assert stored.select(statement, made["id"]) == [(made["thread_id"], me, "After", False, True)]
    assert client.delete(one).is_success
    assert [row[3] for row in stored.select(statement, made["id"])] == [True]


@states("003 §6.1", "表 files 上传文件元数据, in PostgreSQL")
def test_an_upload_is_a_row_of_files(stored: Stored) -> None:
    client = stored.web.person("dora")
    made = ok(client.post("/api/files/upload", files={"file": ("kept.txt", b"kept")}))
    rows = stored.select("SELECT filename FROM files WHERE file_id = %s", made["file_id"])
    assert rows == [("kept.txt",)]


@states("003 §6.2", "AsyncPostgresSaver: LangGraph 状态（自动管理）in the saver's own tables")
def test_checkpoints_are_langgraphs_own_tables(stored: Stored) -> None:
    assert {"thread_id", "checkpoint_id", "checkpoint"} <= stored.columns("checkpoints")


@states("003 §6.3", "用户表的角色/状态枚举: the database takes no other role or status")
def test_the_database_takes_no_other_role_or_status(stored: Stored) -> None:
    stored.web.person("dora")
    for change in ("role = 'boss'", "status = 'asleep'"):
        with psycopg.connect(stored.database) as database, pytest.raises(psycopg.Error):
            database.execute(f"UPDATE users SET {change} WHERE username = 'dora'".encode())


# -- 6.1: the pool --------------------------------------------------------------------------


@states("003 §6.1", "实现：asyncpg")
def test_postgresql_is_reached_with_asyncpg() -> None:
    for url in ("postgresql://u@h/d", "postgres://u@h/d", "postgresql+psycopg://u@h/d"):
        assert normalise_url(url).drivername == "postgresql+asyncpg"


@states("003 §6.1", "连接池 min_size 2", "连接池 max_size 10")
def test_a_server_holds_two_to_ten_connections(stored: Stored) -> None:
    client = stored.web.person("dora")
    name = stored.database.rsplit("/", 1)[1]
    counted = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
    with psycopg.connect(stored.database, autocommit=True) as looking:

        def held() -> int:
            return looking.execute(counted, (name,)).fetchall()[0][0]

        least, most = held(), 0
        ready = threading.Barrier(21)

        def talk() -> None:
            body = {"thread_id": conversation(client)["thread_id"], "message": "!slow 40 5"}
            ready.wait()
            with client.stream("POST", "/api/chat", json=body) as answer:
                assert list(sent_events(answer))[-1].event == "done"

        with ThreadPoolExecutor(20) as pool:
            talks = [pool.submit(talk) for _ in range(20)]
            ready.wait()
            while not all(each.done() for each in talks):
                most = max(most, held())
            for each in talks:
                each.result()
    assert least >= 2
    assert most <= 10


# -- 6.3: migrations ------------------------------------------------------------------------


def alembic(database: str, *words: str, path: Path | None = None) -> str:
    """What `alembic …` prints, in `infra`."""
    env = {**os.environ, "DATABASE_URL": database}
    if path is not None:
        env["PYTHONPATH"] = str(path)
    program = [sys.executable, "-m", "alembic", *words]
    done = subprocess.run(
        program, cwd=ROOT / "infra", env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@states(
    "003 §6.3",
    "工具：Alembic",
    "cd infra && alembic upgrade head 应用迁移",
    "cd infra && alembic downgrade -1 回滚",
    "迁移：用户表、对话表",
)
def test_alembic_upgrades_and_downgrades_in_infra(tmp_path: Path) -> None:
    with fresh_database("postgres", tmp_path) as database:
        alembic(database, "upgrade", "head")
        assert columns(database, "users")
        assert columns(database, "sessions")
        with psycopg.connect(database) as found:
            head = found.execute("SELECT version_num FROM alembic_version").fetchall()
        alembic(database, "downgrade", "-1")
        with psycopg.connect(database) as found:
            before = found.execute("SELECT version_num FROM alembic_version").fetchall()
        assert before != head
        alembic(database, "upgrade", "head")


@states("003 §6.3", 'cd infra && alembic revision -m "description" 创建迁移')
def test_alembic_writes_a_new_migration(tmp_path: Path) -> None:
    package = Path(dataagent_core.__file__).parent
    shutil.copytree(package, tmp_path / "dataagent_core")
    with fresh_database("sqlite", tmp_path) as database:
        alembic(database, "revision", "-m", "a new column", path=tmp_path)
    versions = tmp_path / "dataagent_core" / "storage" / "migrations" / "versions"
    known = {each.name for each in (package / "storage/migrations/versions").glob("*.py")}
    [new] = [each for each in versions.glob("*.py") if each.name not in known]
    assert "a_new_column" in new.name


# -- 1, 9.2: what it is made of, and how a developer starts it ------------------------------


def dependencies() -> set[str]:
    """The names of all packages that ours ask for."""
    found: set[str] = set()
    for path in (ROOT / "libs").glob("*/pyproject.toml"):
        made = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        found |= {re.split(r"[\[<>=~ ;]", each)[0].lower() for each in made["dependencies"]}
    return found


def package_json() -> dict[str, Any]:
    return json.loads((ROOT / "web/package.json").read_text(encoding="utf-8"))


def major(version: str) -> int:
    return int(re.sub(r"^\D+", "", version).split(".")[0])


@states(
    "003 §1", "后端：FastAPI, LangGraph, LangChain, deepagents", "bcrypt 密码哈希, JWT: packages"
)
def test_the_back_end_is_made_of_these() -> None:
    assert {"fastapi", "langgraph", "langchain", "deepagents", "bcrypt", "pyjwt"} <= dependencies()


@states("003 §1", "前端：React 19, Vite 7 (or newer), TypeScript")
def test_the_front_end_is_made_of_these() -> None:
    made = package_json()
    assert major(made["dependencies"]["react"]) == 19
    assert major(made["devDependencies"]["vite"]) >= 7
    assert "typescript" in made["devDependencies"]


@states("003 §9.2", "docker compose up -d 启动 PostgreSQL")
@states("003 §1", "容器化：Docker（PostgreSQL 服务 + 代码沙箱容器池）")
def test_a_compose_file_starts_postgresql() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert services.keys() == {"postgres"}
    assert services["postgres"]["image"].startswith("postgres:")
    assert services["postgres"]["ports"] == ["127.0.0.1:5432:5432"]
    assert (ROOT / "infra/sandbox/Dockerfile").is_file()


@states("003 §9.2", "npm install, npm run dev, npx tsc")
def test_the_front_end_has_its_programs() -> None:
    made = package_json()
    assert "vite" in made["scripts"]["dev"]
    assert "typescript" in made["devDependencies"]
    assert (ROOT / "web/package-lock.json").is_file()
    assert (ROOT / "web/tsconfig.json").is_file()


@states("003 §9.2", "npm run dev 开发服务器 :3008")
def test_the_development_server_is_at_3008() -> None:
    assert re.search(r"port:\s*3008\b", (ROOT / "web/vite.config.ts").read_text())


@states("003 §9.2", "uv sync", "uv run pyright")
def test_the_workspace_is_one_of_uv_and_checked_by_pyright() -> None:
    made = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert made["tool"]["uv"]["workspace"]["members"]
    assert any(each.startswith("pyright") for each in made["dependency-groups"]["dev"])
    assert made["tool"]["pyright"]


@pytest.mark.slow
@states("003 §9.2", "uvicorn …main:app --port 8008 (the package is dataagent_server)")
def test_uvicorn_starts_the_app_by_its_name(tmp_path: Path) -> None:
    port = free_port()
    env = {
        **os.environ,
        "DATAAGENT_HOME": str(tmp_path / "data"),
        "DATAAGENT_SAMPLE_DATA": "false",
        "DATAAGENT_MODEL": "scripted",
        "ADMIN_PASSWORD": PASSWORD,
    }
    words = ["-m", "uvicorn", "dataagent_server.main:app", "--port", str(port)]
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *words], env=env, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        wait_until(lambda: process.poll() is not None or is_up(port))
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        process.wait()


def is_up(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/api/agents").status_code == 200
    except httpx.TransportError:
        return False
