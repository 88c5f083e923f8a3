"""Who is calling, for every kind of credential, right and wrong."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import jwt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.datastructures import Headers

from dataagent_core.errors import BadInput, Denied, NotAuthenticated
from dataagent_core.identity import Principal, UserRole
from dataagent_core.identity.sealing import shared_secret
from dataagent_core.identity.users import User, UserStore
from dataagent_core.storage import open_database
from dataagent_core.storage.migrate import migrate
from dataagent_server.auth import Authenticator, Credentials, LoginTokens, read_credentials
from dataagent_server.auth.api_key import APIKeyAuth
from dataagent_server.auth.credentials import is_same_origin, is_unforgeable_host
from dataagent_server.config import ServerSettings
from tests.requirements import requirement
from tests.tiers import examples

ALICE = "alice-key-4f9a0c"


class AuthSetup:
    """Users, tokens and the authenticator over an empty database."""

    def __init__(self, users: UserStore, secret: str, config: ServerSettings) -> None:
        self.users = users
        self.secret = secret
        self.tokens = LoginTokens(secret, users)
        self.auth = Authenticator(config, users, self.tokens)
        self.user: User

    async def enter(self, *, from_page: bool = False, **claims: Any) -> Principal:
        return await self.auth.authenticate(Credentials(**claims), from_page=from_page)


@pytest.fixture
async def setup(settings_for: Callable[..., ServerSettings]) -> AsyncIterator[AuthSetup]:
    database = open_database("sqlite:///:memory:")
    await migrate(database)
    users = UserStore(database, password_rounds=4)
    made = AuthSetup(users, await shared_secret(database, "login_tokens"), settings_for())
    made.user = await users.create("dora", "password")
    yield made
    users.close()
    await database.close()


@requirement("R19.1", "R19.4", "P31")
async def test_deployment_keys_belong_to_their_users(setup: AuthSetup) -> None:
    assert await setup.enter(api_key=ALICE) == Principal("alice", "user", "api_key")
    assert await setup.enter(api_key="root-key-55aa33") == Principal("root", "admin", "api_key")
    service = "service-key-0b1c2d"
    assert (await setup.enter(api_key=service)).user_id == "default"
    acting = await setup.enter(api_key=service, acting_for="carol")
    assert acting == Principal("carol", "user", "service_key")
    with pytest.raises(BadInput):
        await setup.enter(api_key=service, acting_for="../etc")


@requirement("P30", "P31", "R19.3")
@settings(max_examples=examples(100))
@given(
    st.lists(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=8), unique=True),
    st.text(),
)
def test_a_key_is_taken_if_and_only_if_it_is_listed(keys: list[str], other: str) -> None:
    listed = APIKeyAuth(keys)
    assert all(listed.resolve(key, None) is not None for key in keys)
    assert (listed.resolve(other, None) is not None) == (other in keys)


@requirement("R19.3", "R19.4")
@pytest.mark.parametrize(
    ("listed", "part"),
    [("alice:", ""), (":a-long-secret", "a-long-secret"), ("no user:a-secret", "a-secret")],
)
def test_a_listed_key_that_names_no_user_counts_whole_and_never_in_part(
    listed: str, part: str
) -> None:
    keys = APIKeyAuth([listed])
    assert keys.resolve(part, None) is None
    assert keys.resolve(listed, "carol") == Principal("carol", "user", "service_key")


async def test_who_a_user_would_come_in_as(setup: AuthSetup) -> None:
    chief = await setup.users.create("chief", "password", role="admin")
    known: dict[str, UserRole] = {
        setup.user.user_id: "user",
        chief.user_id: "admin",
        "alice": "user",
        "root": "admin",  # a key of the administrators names them
        "whom a service acts for": "user",
    }
    for user_id, role in known.items():
        assert await setup.auth.principal_for(user_id) == Principal(user_id, role, "api_key")


async def test_a_users_own_key_counts_as_bearer_too(setup: AuthSetup) -> None:
    _, secret = await setup.users.keys.create(setup.user.user_id, "laptop")
    assert await setup.enter(bearer=secret) == Principal(setup.user.user_id, "user", "api_key")
    with pytest.raises(NotAuthenticated):
        await setup.enter(bearer=secret + "x")
    with pytest.raises(NotAuthenticated):
        await setup.enter(bearer=ALICE)  # a key of the deployment has its own header


async def test_without_authentication_only_local_pages_and_programs_come_in(
    setup: AuthSetup, settings_for: Callable[..., ServerSettings]
) -> None:
    setup.auth = Authenticator(settings_for(auth_disabled=True), setup.users, setup.tokens)
    local = "127.0.0.1:8000"
    assert await setup.enter(host=local) == Principal("default", "admin", "auth_disabled")
    acting = await setup.enter(host=local, origin=f"http://{local}", acting_for="carol")
    assert acting == Principal("carol", "admin", "auth_disabled")
    for claims in (
        {"host": local, "origin": "http://evil.example"},
        {"host": local, "origin": "null"},
        {"host": "evil.example:8000", "origin": "http://evil.example:8000"},
        {"host": "evil.example:8000"},  # a name that was pointed at this machine
        {},
    ):
        for from_page in (False, True):
            with pytest.raises(Denied):
                await setup.enter(from_page=from_page, **claims)


@requirement("P30", "R19.3")
@pytest.mark.parametrize(
    "key",
    [
        "",
        " ",
        ALICE + "x",
        ALICE[:-1],
        ALICE.upper(),
        f'"{ALICE}"',
        f"{ALICE},x",
        "k" * 60_000,
        "ключ",
    ],
    ids=range(9),
)
async def test_any_other_key_is_refused(setup: AuthSetup, key: str) -> None:
    with pytest.raises(NotAuthenticated) as refused:
        await setup.enter(api_key=key)
    assert ALICE not in refused.value.message


async def test_a_users_own_key_works_until_it_is_revoked_or_its_user_disabled(
    setup: AuthSetup,
) -> None:
    user_id = setup.user.user_id
    key, secret = await setup.users.keys.create(user_id, "laptop")
    assert await setup.enter(api_key=secret) == Principal(user_id, "user", "api_key")
    await setup.users.set_status(user_id, "disabled")
    with pytest.raises(NotAuthenticated):
        await setup.enter(api_key=secret)
    await setup.users.set_status(user_id, "active")
    await setup.users.keys.revoke(key.key_id, owner=user_id)
    with pytest.raises(NotAuthenticated):
        await setup.enter(api_key=secret)


async def test_a_wrong_key_is_not_made_good_by_a_right_cookie(setup: AuthSetup) -> None:
    token = setup.tokens.issue(setup.user)
    with pytest.raises(NotAuthenticated):
        await setup.enter(api_key="wrong", cookie=token, bearer=token)


async def test_nothing_is_nobody(setup: AuthSetup) -> None:
    with pytest.raises(NotAuthenticated):
        await setup.enter()


async def test_a_token_works_as_bearer_and_as_cookie(setup: AuthSetup) -> None:
    token = setup.tokens.issue(setup.user)
    user_id = setup.user.user_id
    assert await setup.enter(bearer=token) == Principal(user_id, "user", "bearer")
    assert await setup.enter(cookie=token) == Principal(user_id, "user", "cookie")


async def test_a_login_lasts_a_day(setup: AuthSetup) -> None:
    claims = jwt.decode(setup.tokens.issue(setup.user), options={"verify_signature": False})
    assert claims["exp"] - claims["iat"] == 24 * 3600


async def test_a_token_ends_with_its_user_password_or_time(setup: AuthSetup) -> None:
    token = setup.tokens.issue(setup.user)
    user_id = setup.user.user_id
    with pytest.raises(NotAuthenticated):
        await setup.enter(bearer=setup.tokens.issue(setup.user, lifetime=timedelta(seconds=-1)))
    await setup.users.set_status(user_id, "disabled")
    with pytest.raises(NotAuthenticated):
        await setup.enter(bearer=token)
    await setup.users.set_status(user_id, "active")
    await setup.enter(bearer=token)
    await setup.users.set_password(user_id, "another one")
    with pytest.raises(NotAuthenticated):
        await setup.enter(bearer=token)
    renewed = setup.tokens.issue(await setup.users.require(user_id))
    await setup.enter(bearer=renewed)
    await setup.users.delete(user_id)
    with pytest.raises(NotAuthenticated):
        await setup.enter(bearer=renewed)


def forged(setup: AuthSetup) -> dict[str, str]:
    """Tokens that look right and are not."""
    good = setup.tokens.issue(setup.user)
    claims = jwt.decode(good, options={"verify_signature": False})
    head, body, signature = good.split(".")

    def signed(change: dict[str, Any], **options: Any) -> str:
        return jwt.encode({**claims, **change}, options.pop("key", setup.secret), **options)

    def unsigned(algorithm: Any) -> str:
        header = _encoded({"alg": algorithm, "typ": "JWT"})
        return f"{header}.{body}."

    raised = _encoded({**claims, "role": "admin", "sub": "root"})
    return {
        **{f"alg {name}": unsigned(name) for name in ("none", "None", "nOnE", "", None)},
        "no header": f"{_encoded({'typ': 'JWT'})}.{body}.{signature}",
        "HS512": signed({}, key=setup.secret * 2, algorithm="HS512"),
        "common secret": signed({}, key="secret-secret-secret-secret-secret", algorithm="HS256"),
        "cut signature": f"{head}.{body}.{signature[:-4]}",
        "no signature": f"{head}.{body}.",
        "changed payload": f"{head}.{raised}.{signature}",
        "kid": signed({}, key="x" * 40, algorithm="HS256", headers={"kid": "../../dev/null"}),
        "crit": signed({}, algorithm="HS256", headers={"crit": ["exp"]}),
        "sub is a list": _raw(setup.secret, {**claims, "sub": [claims["sub"]]}),
        "nobody": signed({"sub": "nobody"}, algorithm="HS256"),
        "other issuer": signed({"iss": "other"}, algorithm="HS256"),
        "not yet": signed({"nbf": claims["iat"] + 10_000}, algorithm="HS256"),
        "no exp": _raw(setup.secret, {k: v for k, v in claims.items() if k != "exp"}),
        "no stamp": _raw(setup.secret, {k: v for k, v in claims.items() if k != "stamp"}),
        "garbage": "a.b.c",
        "empty": "",
        "long": "a" * 100_000,
        "long and signed": signed({"more": "x" * 4000}, algorithm="HS256"),
        "non-ascii": "é.é.é",
    }


def _encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _raw(secret: str, claims: dict[str, Any]) -> str:
    """Signed as it should be, whatever the claims (PyJWT checks some when it encodes)."""
    import hashlib
    import hmac

    text = f"{_encoded({'alg': 'HS256', 'typ': 'JWT'})}.{_encoded(claims)}"
    digest = hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
    return f"{text}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


async def test_forged_tokens_are_refused(setup: AuthSetup) -> None:
    for token in forged(setup).values():
        for door in ("bearer", "cookie"):
            claims: dict[str, Any] = {door: token}
            with pytest.raises(NotAuthenticated):
                await setup.enter(**claims)


async def test_the_role_is_read_from_the_database(setup: AuthSetup) -> None:
    claims = jwt.decode(setup.tokens.issue(setup.user), options={"verify_signature": False})
    token = jwt.encode({**claims, "role": "admin"}, setup.secret, algorithm="HS256")
    assert (await setup.enter(bearer=token)).role == "user"


async def test_a_cookie_may_write_from_our_own_pages_only(setup: AuthSetup) -> None:
    token = setup.tokens.issue(setup.user)
    ours = {"cookie": token, "host": "data.example:8000", "origin": "http://data.example:8000"}
    await setup.enter(from_page=True, **ours)
    await setup.enter(from_page=False, cookie=token)  # reading needs no origin
    for origin in (None, "null", "http://evil.example", "http://data.example", "file://"):
        with pytest.raises(Denied):
            await setup.enter(from_page=True, **{**ours, "origin": origin})
    await setup.enter(from_page=True, api_key=ALICE, origin="http://evil.example", host="x")


@pytest.mark.parametrize(
    ("origin", "host", "is_same"),
    [
        ("http://a.example", "a.example", True),
        ("https://a.example", "a.example", True),
        ("https://a.example", "a.example:443", True),
        ("http://a.example", "a.example:80", True),
        ("http://a.example:443", "a.example", False),
        ("http://a.example:8000", "a.example:8000", True),
        ("http://A.example", "a.example", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://a.example:8001", "a.example:8000", False),
        ("http://a.example.evil", "a.example", False),
        ("http://evil-a.example", "a.example", False),
        ("http://a.example@evil", "a.example", False),
        ("http://evil@a.example", "a.example", False),
        ("http://a.example", "evil@a.example", False),
        ("http://a.example/path", "a.example", False),
        ("http://a.example?query", "a.example", False),
        ("http://a.example#part", "a.example", False),
        ("ftp://a.example", "a.example", False),
        ("http://a.example:x", "a.example:x", False),
        ("http://[", "a.example", False),
        ("http://a]b", "a]b", False),
        ("null", "null", False),
        ("", "", False),
        ("javascript:1", "a.example", False),
        (None, "a.example", False),
        ("http://a.example", None, False),
    ],
)
def test_same_origin(origin: str | None, host: str | None, is_same: bool) -> None:
    assert is_same_origin(origin, host) is is_same


def test_a_trusted_origin_is_as_good_as_ours() -> None:
    assert is_same_origin("https://app.example", "api.example", ["https://app.example"])


@pytest.mark.parametrize(
    ("host", "is_safe"),
    [
        ("127.0.0.1:8000", True),
        ("localhost", True),
        ("[::1]:8000", True),
        ("app.localhost:80", True),
        ("testserver", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("evil.example@localhost", False),
        ("localhost.", False),
        ("", False),
        (None, False),
    ],
)
def test_a_name_an_outsider_could_own_is_not_trusted(host: str | None, is_safe: bool) -> None:
    assert is_unforgeable_host(host) is is_safe


def test_credentials_are_read_from_headers_and_two_keys_are_none() -> None:
    headers = Headers(
        {
            "X-API-Key": "k",
            "Authorization": "bearer  t",
            "Cookie": "other=1; access_token=c",
            "X-User-Id": "u",
        }
    )
    read = read_credentials(headers)
    assert (read.api_key, read.bearer, read.cookie, read.acting_for) == ("k", "t", "c", "u")
    assert not any(secret in repr(read) for secret in ("'k'", "'t'", "'c'"))
    two = Headers(raw=[(b"x-api-key", b"a"), (b"x-api-key", b"b")])
    assert read_credentials(two).api_key == ""
    assert read_credentials(Headers({"Authorization": "Basic abc"})).is_empty
    assert read_credentials(Headers({"Cookie": "access_token" + "=;" * 20_000})).is_empty


def test_a_header_of_many_cookies_is_read_up_to_sixteen_kilobytes() -> None:
    ours = "access_token=c; other="
    for size, cookie in ((16 * 1024, "c"), (16 * 1024 + 1, None)):
        assert read_credentials(Headers({"Cookie": ours.ljust(size, "x")})).cookie == cookie


@pytest.mark.parametrize(
    "other", ['seen={"a": 1}', "two words=1", "nothing", "list[0]=1", "name=\xe9", "=", 'open="']
)
def test_a_cookie_of_another_program_does_not_hide_ours(other: str) -> None:
    for header in (f"{other}; access_token=c", f"access_token=c; {other}"):
        assert read_credentials(Headers({"Cookie": header})).cookie == "c"
