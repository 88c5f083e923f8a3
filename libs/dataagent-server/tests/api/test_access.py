"""Every route and every socket, with every id that is somebody else's: refused, silent, unchanged.

The requests come from the OpenAPI document, so no new route is forgotten, nor an id of a new kind.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

import httpx
import pytest

from dataagent_server.ws import protocol
from tests.fingerprint import files_with, rows_with
from tests.requirements import requirement

from .owned_resources import SECRET, conversations, data, files, ok, servers

if TYPE_CHECKING:
    from conftest import LiveServer, Socket

StartServer = Callable[..., "LiveServer"]
Json = dict[str, Any]
FREE = {  # looks like an id or stands in an address, and is nobody's
    "agent_id": "general",  # agents are the installation's
    "id": "general",  # of the agent whose address it is
    "assistant_id": "agent",
    "client_message_id": "m-1",
    "filename": f"{SECRET}.csv",
    "path": "notes.md",
    "server_name": f"{SECRET}-tools",  # everyone has names of their own
    "skill_name": "monthly-report",  # everyone has names of their own; what it says is the owner's
    "subject_id": "",
    "template_id": "files",  # templates are the installation's, and so are tools' numbers
    "tool_id": "1",
    "trace_id": "0af7651916cd43dd",
}
REFUSED = {401, 403, 404}
EMPTY_FOR_OTHERS = {"list_artifacts"}  # lists the caller's own of a session: none
FOR_ADMINISTRATORS = {  # who see it of everyone
    *("users", "tenants", "data sources", "data policies", "queries", "audit", "usage"),
    *("workspaces", "agents", "MCP servers", "MCP registry", "MCP templates"),
}
ALSO_FOR_ADMINISTRATORS = {
    *("list_memory", "erase_memory", "erase_one_memory"),  # without its text
    *("list_api_keys", "create_api_key", "revoke_api_key"),  # of a user they name
}


@dataclass(frozen=True, slots=True)
class Owner:
    """What somebody has; under the name of each id, all they have of the kind."""

    key: str
    ids: dict[str, list[str]]

    @property
    def private_ids(self) -> list[str]:
        """All but the tenant's, which others are in, too."""
        return [each for kind, ids in self.ids.items() if kind != "tenant_id" for each in ids]


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody else, with what is theirs."""

    name: str
    headers: dict[str, str]
    own: dict[str, str] = field(default_factory=dict[str, str])

    def may_not(self, ask: Ask) -> bool:
        """Whether there is something to be refused: administrators may do much to everyone."""
        if self.name != "administrator":
            return True
        is_theirs = bool(FOR_ADMINISTRATORS & set(ask.operation["tags"]))
        is_theirs |= ask.operation["operationId"] in ALSO_FOR_ADMINISTRATORS
        return ask.has_foreign_id and not is_theirs


@dataclass(frozen=True, slots=True)
class Ask:
    """One request with ids that are not the caller's."""

    operation: Json
    method: str
    url: str
    query: dict[str, str] = field(default_factory=dict[str, str])
    json: Json | None = None
    form: Json | None = None
    has_foreign_id: bool = True


# -- who is there ----------------------------------------------------------------------------


async def account(live: LiveServer, username: str) -> tuple[str, str, str]:
    """A user with a key: their id, the key's id, the key."""
    users = live.container.users
    user = await live.on_server(users.create(username))
    key, secret = await live.on_server(users.keys.create(user.user_id, username))
    return user.user_id, key.key_id, secret


async def people(live: LiveServer) -> tuple[Owner, list[Caller]]:
    """The owner and a neighbour in one tenant, the administrator of another, and ours."""
    user_id, key_id, key = await account(live, f"{SECRET}_owner")
    neighbour, _, neighbours_key = await account(live, "neighbour")
    rival, _, rivals_key = await account(live, "rival")
    async with live.http("root") as root:
        for tenant_id, members in {
            "acme": {user_id: "member", neighbour: "member"},
            "globex": {rival: "admin"},
        }.items():
            name = SECRET if user_id in members else "Globex"
            body = {"name": name, "tenant_id": tenant_id}
            await ok(await root.post("/api/v1/tenants", json=body))
            for member, role in members.items():
                url = f"/api/v1/tenants/{tenant_id}/users/{member}"
                await ok(await root.put(url, json={"role": role}))
    headers = {"X-API-Key": key}
    ids = {"user_id": [user_id], "key_id": [key_id], "tenant_id": ["acme"]}
    ids |= {"api_key_id": [key_id]}
    async with live.http(None, headers=headers) as client:
        ids |= await conversations(client) | await files(client)
        ids |= await data(live, client, user_id)
        ids |= await servers(live, client, user_id)
        skill = f"---\nname: monthly-report\ndescription: {SECRET}\n---\n{SECRET}"
        await ok(await client.put("/api/skills/monthly-report", json={"content": skill}))
        url = f"/api/v1/users/{user_id}/memory/agent/notes.md"
        assert (await client.put(url, json={"content": SECRET})).status_code == 204
    callers = [
        Caller("nobody", {}),
        await caller(live, "neighbour", neighbours_key, user_id=neighbour),
        await caller(live, "rival", rivals_key, user_id=rival, tenant_id="globex"),
        await caller(live, "administrator", "root-key-55aa33"),
    ]
    return Owner(key, ids), callers


async def caller(live: LiveServer, name: str, key: str, **own: str) -> Caller:
    headers = {"X-API-Key": key}
    async with live.http(None, headers=headers) as client:
        session = await ok(await client.post("/api/v1/sessions", json={}))
    return Caller(name, headers, {**own, "thread_id": session["thread_id"]})


# -- what they try ---------------------------------------------------------------------------


def known(name: str, owner: Owner, place: str) -> str | None:
    """The kind of thing that an id in a query or body names; None for what is nobody's."""
    kind = name.removesuffix("s") if name.endswith("_ids") else name
    if kind in owner.ids:
        return kind
    is_id = kind == "id" or kind.endswith("_id")
    assert kind in FREE or not is_id, (
        f"{place} takes {name!r}: let `people` in test_access.py make one of the owner's, "
        "put it into `Owner.ids`, or the name into FREE if it belongs to nobody."
    )
    return None


def asks(document: Json, owner: Owner, caller: Caller) -> Iterator[Ask]:
    """Every request with the owner's ids in the path, the query or the body, or with none."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "security" in operation:
                yield from asks_of(path, method.upper(), operation, document, owner, caller)


def asks_of(
    path: str, method: str, operation: Json, document: Json, owner: Owner, caller: Caller
) -> Iterator[Ask]:
    parameters: list[Json] = operation.get("parameters", [])
    contents: Json = operation.get("requestBody", {}).get("content", {})
    media: Json = next(iter(contents.values()), Json())
    is_form = "multipart/form-data" in contents
    place, example = f"{method} {path}", media.get("example")

    def ask(url: str, body: Json | None = example, **rest: Any) -> Ask:
        given: Json = {"form" if is_form else "json": body}
        return Ask(operation, method, url, **given, **rest)

    urls = list(
        addresses(path, [p["name"] for p in parameters if p["in"] == "path"], owner, caller)
    )
    is_foreign = any(p["in"] == "path" and p["name"] in owner.ids for p in parameters)
    yield from (ask(url, has_foreign_id=is_foreign) for url in urls)
    for name in (str(p["name"]) for p in parameters if p["in"] == "query"):
        if thing := known(name, owner, place):
            yield from (ask(urls[0], query={name: value}) for value in owner.ids[thing])
    for name in properties(media, document):
        if thing := known(name, owner, place):
            mine = {each: own for each, own in caller.own.items() if each in (example or {})}
            for value in owner.ids[thing]:
                foreign = {name: [value] if name.endswith("_ids") else value}
                yield ask(urls[0], {**(example or {}), **mine, **foreign})


def properties(media: Json, document: Json) -> list[str]:
    schema: Json = media.get("schema", {})
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return list(schema.get("properties", {}))


def addresses(path: str, names: list[str], owner: Owner, caller: Caller) -> Iterator[str]:
    """A path with the owner's ids, and where it has two, with one of the caller's among them."""
    for name in names:
        assert name in owner.ids or name in FREE, (
            f"{path} has {{{name}}}: let `people` in test_access.py make one of the owner's, "
            "put it into `Owner.ids`, or the name into FREE if it belongs to nobody."
        )
    things = [name for name in names if name in owner.ids]
    choices = [[*owner.ids[name], *_mine(name, caller)] for name in things]
    for values in itertools.product(*choices):
        if not things or any(v in owner.ids[n] for n, v in zip(things, values, strict=True)):
            yield path.format(**FREE, **dict(zip(things, values, strict=True)))


def _mine(name: str, caller: Caller) -> list[str]:
    return [caller.own[name]] if name in caller.own else []


# -- what came of it -------------------------------------------------------------------------


async def fingerprint(live: LiveServer, owner: Owner) -> list[str]:
    """All that is the owner's, in the database and on disk."""
    words = [SECRET, *owner.private_ids]
    core, home = live.container.core, live.container.settings.home_dir
    kept = await live.on_server(core.database.read(lambda c: rows_with(c, words)))
    return kept + await asyncio.to_thread(files_with, home, words)


def told(text: str, sent: str, owner: Owner) -> list[str]:
    """What of the owner's an answer tells that its asker did not say."""
    return [word for word in [SECRET, *owner.private_ids] if word in text and word not in sent]


def problems(caller: Caller, ask: Ask, answer: httpx.Response, owner: Owner) -> Iterator[str]:
    status, operation_id = answer.status_code, ask.operation["operationId"]
    if caller.name == "nobody" and status != 401:
        yield f"{status} instead of 401"
    if status >= 500:
        yield f"{status}"
    if ask.has_foreign_id and operation_id in EMPTY_FOR_OTHERS and status == 200:
        if answer.json()["items"]:
            yield "it is not empty"
    elif ask.has_foreign_id and status not in REFUSED:
        yield f"{status} instead of one of {REFUSED}"
    sent = f"{answer.request.url} {ask.json} {ask.form} {answer.request.headers}"
    yield from (f"it tells {word!r}" for word in told(answer.text, sent, owner))


@requirement("R19.3", "R32.1", "R32.2", "R32.3", "R32.4", "R32.5", "P30")
async def test_no_route_lets_anyone_see_or_change_what_is_anothers(
    start_server: StartServer,
) -> None:
    live = start_server(multi_tenant=True)
    owner, callers = await people(live)
    document, found, asked = live.app.openapi(), list[str](), set[str]()
    before = await fingerprint(live, owner)
    assert len(before) > 20
    for caller, header in itertools.product(callers, [{}, {"X-User-Id": owner.ids["user_id"][0]}]):
        async with live.http(None, headers={**caller.headers, **header}) as client:
            for ask in filter(caller.may_not, asks(document, owner, caller)):
                answer = await client.request(
                    ask.method, ask.url, params=ask.query, json=ask.json, **form_of(ask)
                )
                place = f"{caller.name} {header} {ask.method} {answer.request.url}"
                found += [f"{place}: {each}" for each in problems(caller, ask, answer, owner)]
                asked.add(ask.operation["operationId"])
        after = await fingerprint(live, owner)
        found += [f"{caller.name} {header} changed {row}" for row in set(before) ^ set(after)]
        before = after
    assert not found, "\n".join(found)
    assert len(asked) >= 70


def form_of(ask: Ask) -> Json:
    """A form with a file, where the route takes one."""
    if ask.form is None:
        return {}
    fields = {name: value for name, value in ask.form.items() if name != "file"}
    if "file_ids" in fields:
        return {"files": [(name, (None, str(value))) for name, value in flat(fields)]}
    return {"data": fields, "files": {"file": ("mine.csv", b"a,b\n1,2\n")}}


def flat(fields: Json) -> Iterator[tuple[str, Any]]:
    """A form's fields, lists as fields of the same name."""
    for name, value in fields.items():
        yield from ((name, each) for each in (value if name.endswith("_ids") else [value]))


# -- sockets ---------------------------------------------------------------------------------


def commands(owner: Owner) -> Iterator[tuple[str, Json]]:
    """Every command of a socket with every id it can name, the owner's."""
    plain: Json = {"chat": {"message": "!echo x"}, "hitl_decision": {"type": "approve"}}
    for command in get_args(protocol.Command):
        for name in command.model_fields:
            if thing := known(name, owner, f"The command {command.command!r}"):
                for value in owner.ids[thing]:
                    foreign = {name: [value] if name.endswith("_ids") else value}
                    yield command.command, {**plain.get(command.command, {}), **foreign}


@requirement("R19.3", "R32.1", "R32.3")
async def test_no_socket_lets_anyone_see_or_change_what_is_anothers(
    start_server: StartServer,
) -> None:
    live = start_server(multi_tenant=True)
    owner, (nobody, *others) = await people(live)
    before = await fingerprint(live, owner)
    ways = itertools.product(owner.ids["session_id"], (None, 0))
    for caller, (session_id, after) in itertools.product([nobody, *others], ways):
        headers = {**caller.headers, "X-User-Id": owner.ids["user_id"][0]}
        async with live.socket(
            session_id, user=None, headers=headers, after=after, is_greeted=False
        ) as socket:
            if caller is nobody:
                await socket.say("auth", {"api_key": owner.key + "x"})
            assert await refusal(socket, session_id, owner) in {
                "not_authenticated",
                "session_not_found",
            }
            assert await socket.closed() in ({4401} if caller is nobody else {4403, 4404})
    for caller in others:
        async with live.socket(user=None, headers=caller.headers) as socket:
            tried = list(commands(owner))
            assert {kind for kind, _ in tried} == {"chat", "hitl_decision", "cancel"}
            for kind, payload in tried:
                await socket.say(kind, payload)
                code = await refusal(socket, str(payload), owner)
                assert code.endswith("not_found") or code == "bad_input", (kind, payload, code)
    assert await fingerprint(live, owner) == before


async def refusal(socket: Socket, sent: str, owner: Owner) -> str:
    """The code of the error that comes next, which tells nothing."""
    frame = await socket.next("error")
    assert told(str(frame), sent, owner) == []
    return frame["data"]["error_code"]


def test_a_route_with_an_id_of_a_new_kind_would_be_found() -> None:
    owner = Owner("", {"session_id": ["s"]})
    with pytest.raises(AssertionError, match=r"put it into `Owner.ids`"):
        list(addresses("/api/things/{thing_id}", ["thing_id"], owner, Caller("x", {})))
    with pytest.raises(AssertionError, match=r"put it into `Owner.ids`"):
        known("thing_ids", owner, "GET /api/things")
