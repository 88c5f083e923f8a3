"""Tokens that are forged, stretched or out of date, sent to a running server by both ways in."""

from __future__ import annotations

import base64
import hmac
import json
import time
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from dataagent_core.identity.sealing import shared_secret
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer
    from dataagent_core.identity.users import User

COMMON_SECRETS = [
    *("secret", "password", "changeme", "change-me", "key", "jwt", "jwtsecret", "jwt-secret"),
    *("secretkey", "secret-key", "secret_key", "mysecret", "my-secret", "supersecret", "s3cr3t"),
    *("your-256-bit-secret", "your-secret-key", "your_jwt_secret", "default", "test", "admin"),
    *("dev", "development", "production", "token", "private", "qwerty", "123456", "12345678"),
    *("dataagent", "dataagent-secret", "sunnyagent", "null", "undefined", "none", ""),
]


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def signed(
    claims: dict[str, Any], secret: str, *, alg: str = "HS256", digest: str = "sha256", **head: Any
) -> str:
    """A token with a right signature, whatever it says (PyJWT would refuse to make some)."""
    text = f"{encoded({'alg': alg, 'typ': 'JWT', **head})}.{encoded(claims)}"
    mac = hmac.new(secret.encode(), text.encode(), digest).digest()
    return f"{text}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


class Forger:
    """Knows a good token and, for the worst cases, the server's secret."""

    def __init__(self, good: str, secret: str) -> None:
        self.good = good
        self.secret = secret
        self.claims: dict[str, Any] = jwt.decode(good, options={"verify_signature": False})
        self.head, self.body, self.signature = good.split(".")

    def unsigned(self, **head: Any) -> str:
        return f"{encoded({'typ': 'JWT', **head})}.{self.body}."

    def without(self, claim: str) -> str:
        rest = {name: value for name, value in self.claims.items() if name != claim}
        return signed(rest, self.secret)

    def with_claims(self, **claims: Any) -> str:
        return signed({**self.claims, **claims}, self.secret)

    def rs256(self) -> str:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        return jwt.encode(self.claims, key, algorithm="RS256")

    def inline_key(self) -> str:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        jwk = {"kty": "oct", "k": base64.urlsafe_b64encode(public).decode()}
        return signed(self.claims, public.decode(), jwk=jwk)


ATTACKS: dict[str, Callable[[Forger], str]] = {
    "alg none": lambda f: f.unsigned(alg="none"),
    "alg None": lambda f: f.unsigned(alg="None"),
    "alg nOnE": lambda f: f.unsigned(alg="nOnE"),
    "alg null": lambda f: f.unsigned(alg=None),
    "alg is empty": lambda f: f.unsigned(alg=""),
    "alg is a list": lambda f: f.unsigned(alg=["HS256"]),
    "no alg": lambda f: f.unsigned(),
    "no alg, right signature": lambda f: f"{encoded({'typ': 'JWT'})}.{f.body}.{f.signature}",
    "empty key": lambda f: signed(f.claims, ""),
    "HS512": lambda f: signed(f.claims, f.secret, alg="HS512", digest="sha512"),
    "HS384": lambda f: signed(f.claims, f.secret, alg="HS384", digest="sha384"),
    "HS512 that says HS256": lambda f: signed(f.claims, f.secret, digest="sha512"),
    "RS256": Forger.rs256,
    "kid": lambda f: signed(f.claims, "", kid="../../dev/null"),
    "jwk inline": Forger.inline_key,
    "jku": lambda f: signed(f.claims, "x", jku="https://evil.example/keys"),
    "cut signature": lambda f: f.good[:-4],
    "no signature": lambda f: f"{f.head}.{f.body}.",
    "two parts": lambda f: f"{f.head}.{f.body}",
    "four parts": lambda f: f"{f.good}.x",
    "changed payload": lambda f: f"{f.head}.{encoded({**f.claims, 'sub': 'root'})}.{f.signature}",
    "raised role": lambda f: f"{f.head}.{encoded({**f.claims, 'role': 'admin'})}.{f.signature}",
    "expired": lambda f: f.with_claims(exp=int(time.time()) - 1),
    "exp is text": lambda f: f.with_claims(exp="tomorrow"),
    "exp is huge": lambda f: f.with_claims(exp=10**30),
    "exp is null": lambda f: f.with_claims(exp=None),
    "not yet": lambda f: f.with_claims(nbf=int(time.time()) + 1000),
    "issued tomorrow": lambda f: f.with_claims(iat=int(time.time()) + 86_400),
    "crit": lambda f: signed(f.claims, f.secret, crit=["exp"]),
    "crit of a stranger": lambda f: signed(f.claims, f.secret, crit=["x"], x=1),
    "b64": lambda f: signed(f.claims, f.secret, crit=["b64"], b64=False),
    "sub is a list": lambda f: f.with_claims(sub=[f.claims["sub"]]),
    "sub is a number": lambda f: f.with_claims(sub=1),
    "sub is nobody": lambda f: f.with_claims(sub="nobody"),
    "sub is SQL": lambda f: f.with_claims(sub="' OR 1=1 --"),
    "sub is half a character": lambda f: f.with_claims(sub="\ud800"),
    "sub has NUL": lambda f: f.with_claims(sub="a\x00"),
    "jti is a list": lambda f: f.with_claims(jti=["x"]),
    "jti is long": lambda f: f.with_claims(jti="x" * 1000),
    "other issuer": lambda f: f.with_claims(iss="other"),
    "other stamp": lambda f: f.with_claims(stamp="0" * 16),
    "stamp is null": lambda f: f.with_claims(stamp=None),
    **{f"without {name}": lambda f, n=name: f.without(n) for name in ("exp", "iat", "sub", "iss")},
    **{f"without {name}": lambda f, n=name: f.without(n) for name in ("jti", "stamp")},
    "garbage": lambda _: "a.b.c",
    "payload is a list": lambda f: signed(cast(Any, [f.claims]), f.secret),
    "long": lambda _: "a" * 10_000,
    "dots": lambda _: "..",
}


async def make_user(server: LiveServer) -> User:
    return await server.on_server(server.container.users.create(f"u_{uuid4().hex[:12]}"))


async def forger_of(server: LiveServer, user: User) -> Forger:
    secret = await server.on_server(shared_secret(server.container.core.database, "login_tokens"))
    return Forger(server.container.tokens.issue(user), secret)


def ways(token: str) -> list[dict[str, str]]:
    return [{"Authorization": f"Bearer {token}"}, {"Cookie": f"access_token={token}"}]


async def statuses(server: LiveServer, token: str) -> list[tuple[int, str | None]]:
    found: list[tuple[int, str | None]] = []
    async with server.http(None) as client:
        for headers in ways(token):
            answer = await client.get("/api/auth/me", headers=headers)
            found.append((answer.status_code, answer.json().get("error_code")))
            assert not token or token not in answer.text
    return found


@requirement("S2.5.1a")
async def test_a_token_made_by_the_book_is_taken(live: LiveServer) -> None:
    forger = await forger_of(live, await make_user(live))
    assert await statuses(live, forger.good) == [(200, None)] * 2
    assert await statuses(live, signed(forger.claims, forger.secret)) == [(200, None)] * 2


@requirement("S2.5.1c")
@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_forged_token_is_401(live: LiveServer, attack: str) -> None:
    forger = await forger_of(live, await make_user(live))
    assert await statuses(live, ATTACKS[attack](forger)) == [(401, "not_authenticated")] * 2


async def test_no_common_secret_signs_a_token(live: LiveServer) -> None:
    forger = await forger_of(live, await make_user(live))
    assert len(COMMON_SECRETS) >= 36
    for secret in COMMON_SECRETS:
        assert {each[0] for each in await statuses(live, signed(forger.claims, secret))} == {401}


async def test_the_role_is_the_databases_not_the_tokens(live: LiveServer) -> None:
    forger = await forger_of(live, await make_user(live))
    raised = forger.with_claims(role="admin", is_admin=True)
    async with live.http(None) as client:
        for headers in ways(raised):
            assert (await client.get("/api/auth/me", headers=headers)).json()["role"] == "user"
            refused = await client.get("/api/users", headers=headers)
            assert (refused.status_code, refused.json()["error_code"]) == (403, "denied")


@pytest.mark.parametrize("end", ["disabled", "deleted", "another password"])
async def test_a_token_ends_with_its_user(live: LiveServer, end: str) -> None:
    user = await make_user(live)
    forger = await forger_of(live, user)
    users = live.container.users
    match end:
        case "disabled":
            await live.on_server(users.set_status(user.user_id, "disabled"))
        case "deleted":
            await live.on_server(users.delete(user.user_id))
        case _:
            await live.on_server(users.set_password(user.user_id, "another"))
    assert await statuses(live, forger.good) == [(401, "not_authenticated")] * 2


async def test_a_demoted_administrator_is_one_no_more_with_the_same_token(
    live: LiveServer,
) -> None:
    user = await make_user(live)
    users = live.container.users
    await live.on_server(users.set_role(user.user_id, "admin"))
    token = live.container.tokens.issue(user)
    async with live.http(None, headers={"Authorization": f"Bearer {token}"}) as client:
        assert (await client.get("/api/users")).status_code == 200
        await live.on_server(users.set_role(user.user_id, "user"))
        assert (await client.get("/api/users")).status_code == 403


async def test_every_token_is_another_and_says_no_more_than_it_must(live: LiveServer) -> None:
    user = await make_user(live)
    first, second = (await forger_of(live, user) for _ in range(2)), await forger_of(live, user)
    tokens = [each async for each in first]
    assert len({each.good for each in (*tokens, second)}) == 3
    claims = {"iss", "sub", "user_id", "role", "iat", "exp", "jti", "stamp"}
    assert set(second.claims) == claims
    assert second.claims["exp"] - second.claims["iat"] == 86_400
