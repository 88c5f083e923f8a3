"""Seed 003: logins, accounts and what an administrator does with them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import uuid
from collections.abc import Generator, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import httpx
import jwt
import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from dataagent_server.api import deps
from dataagent_server.config import ServerSettings
from dataagent_server.main import create_app
from tests.acceptance.states import states
from tests.acceptance.web_server import ADMIN, PASSWORD, Web, first_start, items, ok, running

USERS = "/api/users"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Generator[Web]:
    with running(tmp_path_factory.mktemp("auth") / "server") as started:
        yield started


def login(web: Web, username: str, password: str = PASSWORD) -> httpx.Response:
    with web.client() as client:
        body = {"username": username, "password": password}
        return client.post("/api/auth/login", json=body)


def account(web: Web, username: str, **fields: object) -> httpx.Response:
    body = {"username": username, "password": PASSWORD, "role": "user", **fields}
    return web.admin.post(USERS, json=body)


def cookie_of(answer: httpx.Response) -> dict[str, str]:
    """The attributes of the cookie an answer sets, in small letters."""
    [header] = answer.headers.get_list("set-cookie")
    parts = [part.strip().partition("=") for part in header.split(";")]
    return {"": parts[0][0], **{name.lower(): value for name, _, value in parts[1:]}}


def claims_of(answer: httpx.Response) -> dict[str, object]:
    [token] = list(answer.cookies.values())
    return jwt.decode(token, options={"verify_signature": False})


# -- 2.5.1, 3.1: logging in -----------------------------------------------------------------


@states(
    "003 §2.5.1",
    "登录：Set-Cookie: access_token",
    "Set-Cookie HttpOnly",
    "Set-Cookie 24h (Max-Age 86400)",
)
def test_login_sets_the_cookie_access_token(web: Web) -> None:
    cookie = cookie_of(login(web, ADMIN))
    assert cookie[""] == "access_token"
    assert "httponly" in cookie
    assert cookie["max-age"] == "86400"


@states("003 §10.5", "JWT Cookie 使用 SameSite=Lax")
@states("003 §10.1", "JWT 存储在 HttpOnly Cookie")
def test_the_cookie_is_same_site_lax_and_http_only(web: Web) -> None:
    cookie = cookie_of(login(web, ADMIN))
    assert cookie["samesite"].lower() == "lax"
    assert "httponly" in cookie


@states("003 §3.1", "POST /api/auth/login, no login needed, 返回 JWT Cookie")
@states("003 §2.5.1", "认证：JWT（Cookie 里是一个 JWT）", "登录后返回用户信息")
def test_login_returns_a_jwt_and_the_user(web: Web) -> None:
    answer = login(web, ADMIN)
    user = ok(answer, 200)
    assert (user["username"], user["role"], user["status"]) == (ADMIN, "admin", "active")
    [token] = list(answer.cookies.values())
    assert jwt.get_unverified_header(token)["typ"] == "JWT"
    assert "password" not in answer.text


@states("003 §2.5.1", "JWT Token 含 user_id")
def test_the_token_says_user_id(web: Web) -> None:
    answer = login(web, ADMIN)
    assert claims_of(answer)["user_id"] == answer.json()["id"]


@states("003 §2.5.1", "JWT Token 含 role")
def test_the_token_says_role(web: Web) -> None:
    web.person("dora")
    assert claims_of(login(web, ADMIN))["role"] == "admin"
    assert claims_of(login(web, "dora"))["role"] == "user"


@states("003 §2.5.1", "会话有效期 24 小时（JWT exp）")
@states("003 §10.1", "Token 有效期：24 小时")
def test_a_token_ends_24_hours_after_it_was_made(web: Web) -> None:
    claims = claims_of(login(web, ADMIN))
    assert int(str(claims["exp"])) - int(str(claims["iat"])) == 86400


@states("003 §3.1", "LoginRequest.username: string", "LoginRequest.password: string")
def test_login_wants_a_name_and_a_password(web: Web) -> None:
    bodies: list[dict[str, object]] = [
        {"username": ADMIN},
        {"password": PASSWORD},
        {},
        {"username": 1, "password": "x"},
        {"username": "x", "password": None},
    ]
    for body in bodies:
        assert web.stranger.post("/api/auth/login", json=body).status_code == 422


@states("003 §2.5.1", "验证用户名 + 密码：wrong ones are 401")
def test_a_wrong_name_or_password_is_401(web: Web) -> None:
    for answer in (login(web, ADMIN, "wrong"), login(web, "nobody_here")):
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers


@states("003 §2.5.1", "检查用户状态（active/disabled）", "安全特性：禁用账户无法登录")
@states("003 §10.1", "账户状态：禁用账户无法登录")
def test_a_disabled_account_cannot_log_in(web: Web) -> None:
    made = ok(account(web, "parked"))
    ok(web.admin.patch(f"{USERS}/{made['id']}/status", json={"status": "disabled"}))
    answer = login(web, "parked")
    assert answer.status_code in {401, 403}
    assert "set-cookie" not in answer.headers


@states("003 §3.1", "POST /api/auth/logout, no login needed", "logout 清除认证 Cookie")
def test_logout_clears_the_cookie(web: Web) -> None:
    account(web, "leaver")
    with closing(web.log_in("leaver")) as client:
        answer = client.post("/api/auth/logout")
        assert answer.is_success
        cookie = cookie_of(answer)
        assert cookie[""] == "access_token"
        assert cookie["max-age"] == "0"
        assert list(client.cookies.jar) == []
        assert client.get("/api/auth/me").status_code == 401
    assert web.stranger.post("/api/auth/logout").is_success


@states("003 §3.1", "GET /api/auth/me 获取当前用户信息", "GET /api/auth/me 权限 User")
def test_me_is_the_user_who_is_logged_in(web: Web) -> None:
    me = ok(web.person("dora").get("/api/auth/me"))
    assert (me["username"], me["role"], me["status"]) == ("dora", "user", "active")
    assert web.stranger.get("/api/auth/me").status_code == 401


@states(
    "003 §2.5.1",
    "get_current_user(): 验证 JWT，失败 401 Unauthorized",
)
def test_a_token_that_is_not_ours_is_401(web: Web) -> None:
    answer = login(web, ADMIN)
    [(name, token)] = list(answer.cookies.items())
    signed, _, signature = token.rpartition(".")
    forged = jwt.encode({**claims_of(answer)}, "x" * 32, algorithm="HS256")
    unsigned = jwt.encode({**claims_of(answer)}, "", algorithm="none")
    for bad in ("", "rubbish", forged, unsigned, f"{signed}.{signature[::-1]}"):
        with web.client(Cookie=f"{name}={bad}") as client:
            assert client.get("/api/auth/me").status_code == 401
    with web.client(Cookie=f"{name}={token}") as client:
        assert client.get("/api/auth/me").status_code == 200


@states("003 §2.5.1", "JWT is taken from the cookie named access_token")
def test_a_token_in_access_token_is_a_login(web: Web) -> None:
    [token] = list(login(web, ADMIN).cookies.values())
    with web.client(Cookie=f"access_token={token}") as client:
        assert ok(client.get("/api/auth/me"))["username"] == ADMIN


@states("003 §2.5.1", "require_admin(): 失败 403 Forbidden")
@states("003 §10.2", "用户管理仅管理员可访问")
@states(
    "003 §3.2",
    "GET /api/users 权限 Admin",
    "POST /api/users 权限 Admin",
    "DELETE /api/users/{id} 权限 Admin",
    "PATCH /api/users/{id}/status 权限 Admin",
)
def test_accounts_are_for_administrators(web: Web) -> None:
    made = ok(account(web, "untouched"))
    one = f"{USERS}/{made['id']}"
    new = {"username": "intruder", "password": "x", "role": "admin"}
    for client, status in ((web.person("dora"), 403), (web.stranger, 401)):
        assert client.get(USERS).status_code == status
        assert client.post(USERS, json=new).status_code == status
        assert client.delete(one).status_code == status
        disabled = client.patch(f"{one}/status", json={"status": "disabled"})
        assert disabled.status_code == status
    listed = {each["username"]: each["status"] for each in items(web.admin.get(USERS))}
    assert listed["untouched"] == "active"
    assert "intruder" not in listed


# -- 2.5.1: what a user is ------------------------------------------------------------------


@states(
    "003 §2.5.1",
    "User.id: UUID",
    "User.username",
    "User.role: admin | user",
    "User.status: active | disabled",
    "User.created_at: datetime",
)
def test_a_user_has_these_fields(web: Web) -> None:
    user = ok(account(web, "fields_1"))
    assert str(uuid.UUID(user["id"])) == user["id"]
    assert user["username"] == "fields_1"
    assert user["role"] == "user"
    assert user["status"] == "active"
    assert datetime.fromisoformat(user["created_at"]).tzinfo is not None
    for role in ("boss", "", None, "ADMIN"):
        assert account(web, "fields_2", role=role).status_code == 422
    answer = web.admin.patch(f"{USERS}/{user['id']}/status", json={"status": "asleep"})
    assert answer.status_code == 422


@states("003 §2.5.1", "用户名 3-20 字符", "用户名：字母数字下划线")
@states("003 §3.2", "UserCreate.username: string（3-20字符）")
def test_a_name_has_3_to_20_letters_digits_or_underscores(web: Web) -> None:
    for good in ("A_1", "0_" * 10):
        assert ok(account(web, good))["username"] == good
    for bad in ("ab", "a" * 21, "", "a b c", "a-b-c", "a.b", "a@b.c", "abc\n", "<abc>"):
        assert 400 <= account(web, bad).status_code < 500, bad


@states("003 §2.5.1", "User.password_hash: bcrypt 哈希", "密码使用 bcrypt 哈希（自动加盐）")
@states("003 §10.1", "密码存储：bcrypt 哈希（自动加盐）")
def test_passwords_are_stored_as_salted_bcrypt_hashes(web: Web) -> None:
    for name in ("salted_1", "salted_2"):
        ok(account(web, name, password="the same secret"))
    rows = web.select("SELECT password_hash FROM users WHERE username IN ('salted_1', 'salted_2')")
    hashes = [row[0] for row in rows]
    assert [each[:4] for each in hashes] == ["$2b$", "$2b$"]
    assert len(set(hashes)) == 2
    assert all(len(each) == 60 for each in hashes)
    stored = web.home / "dataagent.db"
    assert b"the same secret" not in stored.read_bytes()


# -- 2.5.2, 3.2: administering accounts -----------------------------------------------------


@states("003 §2.5.2", "GET /api/users 返回所有用户")
@states("003 §3.2", "GET /api/users 获取所有用户列表")
def test_the_list_has_all_users(web: Web) -> None:
    made = {ok(account(web, name))["id"] for name in ("listed_1", "listed_2")}
    answer = ok(web.admin.get(USERS, params={"limit": 1000}))
    stored = {row[0] for row in web.select("SELECT username FROM users")}
    assert {each["username"] for each in answer["items"]} == stored
    assert made <= {each["id"] for each in answer["items"]}
    assert answer["total"] == len(stored)
    assert "password" not in web.admin.get(USERS).text


@states("003 §2.5.2", "POST /api/users 指定用户名、密码、角色")
@states("003 §3.2", 'UserCreate.role: "admin" | "user"', "POST /api/users 创建新用户")
def test_an_administrator_creates_users_and_administrators(web: Web) -> None:
    assert ok(account(web, "new_user", password="pw-1", role="user"))["role"] == "user"
    assert ok(account(web, "new_admin", password="pw-2", role="admin"))["role"] == "admin"
    assert login(web, "new_user", "pw-1").status_code == 200
    with closing(web.log_in("new_admin", "pw-2")) as client:
        assert client.get(USERS).status_code == 200
    assert account(web, "new_user").status_code == 409


@states("003 §3.2", "UserCreate.password is required")
def test_an_account_needs_a_password(web: Web) -> None:
    body = {"username": "keyless", "role": "user"}
    assert web.admin.post(USERS, json=body).status_code == 422
    assert web.admin.post(USERS, json={**body, "password": None}).status_code == 422


@states("003 §3.2", "UserCreate.role is required")
def test_an_account_needs_a_role(web: Web) -> None:
    body = {"username": "roleless", "password": PASSWORD}
    assert web.admin.post(USERS, json=body).status_code == 422


@states("003 §2.5.2", "密码无强度限制（用户自行管理）")
def test_any_password_is_strong_enough(web: Web) -> None:
    for number, password in enumerate(("1", "   ")):
        ok(account(web, f"weak_{number}", password=password))
        assert login(web, f"weak_{number}", password).status_code == 200


@states("003 §2.5.2", "PATCH /api/users/{id}/status 切换用户状态")
@states("003 §3.2", "PATCH /api/users/{id}/status 更新用户状态")
def test_an_account_is_disabled_and_enabled(web: Web) -> None:
    made = ok(account(web, "switched"))
    one = f"{USERS}/{made['id']}/status"
    for status, login_status in (("disabled", {401, 403}), ("active", {200})):
        changed = ok(web.admin.patch(one, json={"status": status}))
        assert (changed["id"], changed["status"]) == (made["id"], status)
        assert login(web, "switched").status_code in login_status


@states("003 §2.5.2", "DELETE /api/users/{id} 物理删除用户")
@states("003 §3.2", "DELETE /api/users/{id} 删除用户")
def test_a_deleted_user_is_gone_from_the_database(web: Web) -> None:
    made = ok(account(web, "erased"))
    assert web.admin.delete(f"{USERS}/{made['id']}").is_success
    assert web.select("SELECT * FROM users WHERE username = 'erased'") == []
    assert login(web, "erased").status_code == 401
    assert web.admin.delete(f"{USERS}/{made['id']}").status_code == 404
    assert ok(account(web, "erased"))["id"] != made["id"]


@states("003 §2.5.2", "不能删除自己的账户", "不能禁用自己的账户")
def test_no_one_deletes_or_disables_their_own_account(web: Web) -> None:
    ok(account(web, "second_admin", role="admin"))  # so that it is not about being the last one
    me = ok(web.admin.get("/api/auth/me"))
    one = f"{USERS}/{me['id']}"
    assert 400 <= web.admin.delete(one).status_code < 500
    refused = web.admin.patch(f"{one}/status", json={"status": "disabled"})
    assert 400 <= refused.status_code < 500
    assert ok(web.admin.get("/api/auth/me"))["status"] == "active"
    assert login(web, ADMIN).status_code == 200


@states("003 §2.5.2", "不能删除最后一个活跃管理员", "不能禁用最后一个活跃管理员")
@states("003 §10.1", "管理员保护：防止删除/禁用最后一个管理员")
def test_the_last_active_administrator_stays(web: Web) -> None:
    with web.key() as root:
        for each in items(root.get(USERS, params={"limit": 1000})):
            if each["role"] == "admin" and each["username"] != ADMIN:
                root.patch(f"{USERS}/{each['id']}/status", json={"status": "disabled"})
        me = ok(web.admin.get("/api/auth/me"))
        one = f"{USERS}/{me['id']}"
        assert 400 <= root.delete(one).status_code < 500
        refused = root.patch(f"{one}/status", json={"status": "disabled"})
        assert 400 <= refused.status_code < 500
    assert ok(web.admin.get("/api/auth/me"))["status"] == "active"
    assert login(web, ADMIN).status_code == 200


# -- 9.1: the first start, the secret and how long a login lasts ----------------------------


@states(
    "003 §9.1",
    "ADMIN_USERNAME 默认管理员用户名（首次启动时创建）",
    "ADMIN_PASSWORD 默认管理员密码",
    "JWT_SECRET_KEY JWT 签名密钥",
    "JWT_EXPIRATION Token 过期时间（秒）",
)
@states("003 §10.1", "Token 有效期可配置")
def test_a_first_start_reads_the_administrator_and_the_tokens_settings(tmp_path: Path) -> None:
    secret = "a secret of at least thirty-two bytes"
    settings = {
        "ADMIN_USERNAME": "founder",
        "ADMIN_PASSWORD": "first password",
        "JWT_SECRET_KEY": secret,
        "JWT_EXPIRATION": "7200",
    }
    with first_start(tmp_path / "server", **settings) as web:
        answer = login(web, "founder", "first password")
        assert ok(answer)["role"] == "admin"
        [token] = list(answer.cookies.values())
        claims = jwt.decode(token, secret, algorithms=["HS256"])
        assert claims["exp"] - claims["iat"] == 7200
        assert cookie_of(answer)["max-age"] == "7200"
        web.stop()
        web.server.set(ADMIN_USERNAME="usurper", ADMIN_PASSWORD="second password")
        web.start()
        assert login(web, "usurper", "second password").status_code == 401
        assert login(web, "founder", "second password").status_code == 401
        assert login(web, "founder", "first password").status_code == 200


@states("003 §9.1", "JWT_SECRET_KEY 不设置则自动生成", "JWT_EXPIRATION 默认 86400")
def test_without_a_secret_one_is_made(web: Web) -> None:
    # what it was started with
    assert "JWT_SECRET_KEY" not in web.server._env  # pyright: ignore[reportPrivateUsage]
    answer = login(web, ADMIN)
    [token] = list(answer.cookies.values())
    assert cookie_of(answer)["max-age"] == "86400"
    signed, _, signature = token.rpartition(".")
    for guess in (b"", b"secret", b"changeme", b"dataagent", b"your-secret-key"):
        digest = hmac.new(guess, signed.encode(), hashlib.sha256).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != signature


# -- 10.2: what needs a login ---------------------------------------------------------------


@states("003 §10.2", "所有敏感端点需要认证")
@states(
    "003 §3.3",
    "GET /api/conversations 权限 User",
    "POST /api/conversations 权限 User",
    "GET /api/conversations/{id} 权限 User",
    "PATCH /api/conversations/{id} 权限 User",
    "DELETE /api/conversations/{id} 权限 User",
)
@states("003 §3.4", "POST /api/chat 权限 User", "GET /api/threads/{id}/history 权限 User")
@states(
    "003 §3.6",
    "POST /api/files/upload 权限 User",
    "GET /api/files/{id}/download 权限 User",
    "GET /api/files/{id}/content 权限 User",
    "GET /api/files/{id}/{filename} 权限 User",
)
def test_these_need_a_login(web: Web) -> None:
    some = str(uuid.uuid4())
    client = web.stranger
    answers = [
        client.get("/api/conversations"),
        client.post("/api/conversations", json={}),
        client.get(f"/api/conversations/{some}"),
        client.patch(f"/api/conversations/{some}", json={"title": "x"}),
        client.delete(f"/api/conversations/{some}"),
        client.post("/api/chat", json={"thread_id": "0badcafe", "message": "hi"}),
        client.get("/api/threads/0badcafe/history"),
        client.post("/api/files/upload", files={"file": ("a.txt", b"a")}),
        client.get(f"/api/files/{some}/download"),
        client.get(f"/api/files/{some}/content"),
        client.get(f"/api/files/{some}/a.txt"),
    ]
    assert [answer.status_code for answer in answers] == [401] * len(answers)


@states("003 §3.4", "GET /api/agents 权限 -")
def test_the_agents_are_for_everyone(web: Web) -> None:
    assert web.stranger.get("/api/agents").status_code == 200


@states("003 §10.5", "CORS 限制开发服务器来源")
def test_pages_of_other_sites_read_nothing(web: Web) -> None:
    asked = {"Access-Control-Request-Method": "POST"}
    with httpx.Client(base_url=web.url, headers={"Origin": "https://evil.example"}) as client:
        answers = [client.get("/api/agents"), client.options("/api/chat", headers=asked)]
    assert all("access-control-allow-origin" not in answer.headers for answer in answers)


@states("003 §10.5", "CORS: the development server's origin is let in when it is named, no other")
def test_the_development_servers_pages_read_when_they_are_named(tmp_path: Path) -> None:
    ours = "http://localhost:3008"
    settings = {"DATAAGENT_CORS_ORIGINS": ours, "DATAAGENT_CORS_CREDENTIALS": "true"}
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    with running(tmp_path / "server", **settings) as web:
        for origin, allowed in ((ours, ours), ("http://localhost:3009", None)):
            with httpx.Client(base_url=web.url, headers={"Origin": origin}) as client:
                answers = [client.options("/api/chat", headers=asked), client.get("/api/agents")]
                login = {"username": ADMIN, "password": PASSWORD}
                answers.append(client.post("/api/auth/login", json=login))
            for answer in answers:
                assert answer.headers.get("access-control-allow-origin") == allowed
            assert answers[-1].is_success is (allowed is not None)


@states("003 §2.5.1", "依赖函数 get_current_user(), require_admin()")
def test_the_dependencies_have_these_names(tmp_path: Path) -> None:
    app = create_app(ServerSettings(home=tmp_path))
    asked: dict[str, set[object]] = {}
    for context in iter_route_contexts(app.routes):
        if context.path is not None and isinstance(context.original_route, APIRoute):
            found = asked.setdefault(context.path, set())
            found.update(dependencies(context.original_route.dependant))
    assert {deps.get_current_user, deps.require_admin} <= asked["/api/users"]
    assert deps.get_current_user in asked["/api/conversations"]
    assert deps.require_admin not in asked["/api/conversations"]
    assert deps.get_current_user not in asked["/api/agents"]


def dependencies(dependant: Dependant) -> Iterator[object]:
    """What a route depends on, at any depth."""
    for each in dependant.dependencies:
        yield each.call
        yield from dependencies(each)
