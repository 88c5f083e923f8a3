"""Tenants and their members, on every SQL database; who may see and change them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, delete, insert, update

from dataagent_core.data.sources import Grant, NewSource, SourceStore
from dataagent_core.errors import (
    AgentDisabled,
    BadInput,
    Conflict,
    Denied,
    NotFound,
    TenantLimit,
    TenantNotFound,
)
from dataagent_core.identity import Principal
from dataagent_core.identity.tenancy import Tenancy
from dataagent_core.identity.tenants import Tenant, TenantStore, TenantTerms
from dataagent_core.storage import Database, open_database, tables
from dataagent_core.storage import tables as people
from tests.requirements import requirement

ROOT = Principal("root", "admin", "api_key")
ANNA = Principal("anna", "user", "api_key")
BERT = Principal("bert", "user", "api_key")
ALL_TERMS = TenantTerms(
    name="Acme",
    max_users=3,
    max_sessions_per_user=10,
    max_mcp_servers=2,
    workspace_quota=5_000_000_000,
    features_enabled={"mcp": False, "tool:shell": False, "agent:research": True},
)


@pytest.fixture
async def database(sql_place: str) -> AsyncIterator[Database]:
    opened = open_database(sql_place)
    await opened.write(_empty)
    yield opened
    await opened.close()


def _empty(connection: Connection) -> None:
    for table in (people.tenants, tables.data_sources, tables.users):
        connection.execute(delete(table))


@pytest.fixture
def store(database: Database) -> TenantStore:
    return TenantStore(database)


@pytest.fixture
def tenancy(database: Database) -> Tenancy:
    return Tenancy(database, is_on=True)


def _terms(**terms: Any) -> TenantTerms:
    given: dict[str, Any] = {"name": "Acme", **terms}
    return TenantTerms(**given)


async def acme(tenancy: Tenancy, **terms: Any) -> Tenant:
    """A tenant that anna administers."""
    made = await tenancy.create(_terms(**terms), ROOT)
    await tenancy.put_member(made.tenant_id, "anna", "admin", ROOT)
    return made


@requirement("R35.2")
async def test_a_tenant_is_kept_with_all_its_fields(store: TenantStore) -> None:
    made = await store.create(ALL_TERMS)
    assert await store.get(made.tenant_id) == made
    kept = {name: getattr(made, name) for name in ALL_TERMS.__dataclass_fields__}
    assert TenantTerms(**kept) == ALL_TERMS
    changed = await store.update(made.tenant_id, TenantTerms(name="Bcme"))
    assert (changed.name, changed.max_users, changed.features_enabled) == ("Bcme", 100, {})
    assert (changed.tenant_id, changed.created_at) == (made.tenant_id, made.created_at)
    named = await store.create(ALL_TERMS, tenant_id="acme.de")
    assert [each.tenant_id for each in await store.list()] == ["acme.de", made.tenant_id]
    await store.delete(named.tenant_id)
    with pytest.raises(TenantNotFound):
        await store.get("acme.de")
    for missing in ("acme.de", "\ud800", "x" * 500):
        with pytest.raises(TenantNotFound):
            await store.get(missing)


@requirement("R35.2")
@pytest.mark.parametrize(
    "terms",
    [
        {"name": " "},
        {"name": "x" * 201},
        {"name": "a\x00b"},
        {"max_users": -1},
        {"max_users": 2**31},
        {"workspace_quota": 2**53 + 1},
        {"features_enabled": {"shell": False}},
        {"features_enabled": {"tool:": False}},
        {"features_enabled": {f"tool:t{number}": True for number in range(501)}},
    ],
    ids=str,
)
async def test_terms_that_make_no_sense_are_refused(terms: dict[str, Any]) -> None:
    database = open_database("sqlite:///:memory:")
    try:
        with pytest.raises(BadInput):
            await TenantStore(database).create(_terms(**terms))
    finally:
        await database.close()


async def test_ids_are_checked_and_taken_once(store: TenantStore) -> None:
    await store.create(ALL_TERMS, tenant_id="acme")
    with pytest.raises(Conflict):
        await store.create(ALL_TERMS, tenant_id="acme")
    for bad in ("", "../x", "a b", "x" * 65):
        with pytest.raises(BadInput):
            await store.create(ALL_TERMS, tenant_id=bad)
        with pytest.raises(BadInput):
            await store.put_member("acme", bad, "member")


async def test_members_join_change_and_leave(store: TenantStore) -> None:
    one = await store.create(TenantTerms(name="One"))
    two = await store.create(TenantTerms(name="Two"))
    joined = await store.put_member(one.tenant_id, "anna", "member")
    assert (await store.put_member(one.tenant_id, "anna", "admin")).created_at == joined.created_at
    membership = await store.tenant_of("anna")
    assert membership is not None
    assert (membership.tenant, membership.role) == (one, "admin")
    with pytest.raises(Conflict):
        await store.put_member(two.tenant_id, "anna", "member")
    with pytest.raises(TenantNotFound):
        await store.put_member("nowhere", "anna", "member")
    with pytest.raises(NotFound):
        await store.remove_member(two.tenant_id, "anna")
    await store.remove_member(one.tenant_id, "anna")
    assert await store.tenant_of("anna") is None
    await store.put_member(two.tenant_id, "anna", "member")
    await store.put_member(two.tenant_id, "bert", "member")
    page, total = await store.members(two.tenant_id, limit=1, offset=1)
    assert ([each.user_id for each in page], total) == (["bert"], 2)


@requirement("R35.4")
async def test_a_full_tenant_takes_nobody_in_and_keeps_whom_it_has(store: TenantStore) -> None:
    made = await store.create(TenantTerms(name="Small", max_users=1))
    await store.put_member(made.tenant_id, "anna", "member")
    with pytest.raises(TenantLimit) as refused:
        await store.put_member(made.tenant_id, "bert", "member")
    assert refused.value.details == {"what": "max_users", "limit": 1, "used": 1}
    await store.put_member(made.tenant_id, "anna", "admin")  # no new user
    await store.update(made.tenant_id, TenantTerms(name="Small", max_users=0))
    assert (await store.members(made.tenant_id))[1] == 1


@requirement("R35.4")
async def test_two_that_join_at_the_same_moment_do_not_pass_the_limit(
    store: TenantStore, sql_place: str
) -> None:
    made = await store.create(TenantTerms(name="Small", max_users=3))
    others = [open_database(sql_place) for _ in range(4)]
    try:
        doors = [TenantStore(each) for each in others]
        joining = [
            doors[number % 4].put_member(made.tenant_id, f"user{number}", "member")
            for number in range(12)
        ]
        outcomes = await asyncio.gather(*joining, return_exceptions=True)
    finally:
        for each in others:
            await each.close()
    refused = [each for each in outcomes if isinstance(each, BaseException)]
    assert (len(refused), {type(each) for each in refused}) == (9, {TenantLimit})
    assert (await store.members(made.tenant_id))[1] == 3


async def test_the_same_user_taken_in_twice_at_once_is_one_member(store: TenantStore) -> None:
    made = await store.create(TenantTerms(name="One"))
    await asyncio.gather(*(store.put_member(made.tenant_id, "anna", "member") for _ in range(6)))
    assert (await store.members(made.tenant_id))[1] == 1


async def test_a_deleted_tenant_takes_its_grants_along(
    database: Database, store: TenantStore
) -> None:
    await store.create(TenantTerms(name="Gone"), tenant_id="gone")
    await store.put_member("gone", "anna", "admin")
    grants = (Grant("tenant", "gone"), Grant("user", "gone"))
    sources = SourceStore(database, secret_key=SecretStr("k" * 32))
    new = NewSource("sales", url=SecretStr("sqlite:///sales.db"), grants=grants)
    source = await sources.create(new)
    await store.delete("gone")
    left = (await sources.require(source.source_id)).grants
    assert left == (Grant("user", "gone"),)
    assert await store.tenant_of("anna") is None


# -- who may do what ----------------------------------------------------------------------------


@requirement("R35.3")
async def test_a_tenants_administrator_sees_their_tenant_and_nothing_of_another(
    tenancy: Tenancy,
) -> None:
    own = await acme(tenancy)
    other = await tenancy.create(TenantTerms(name="Other"), ROOT)
    await tenancy.put_member(other.tenant_id, "bert", "member", ROOT)
    assert [each.tenant_id for each in await tenancy.list_for(ANNA)] == [own.tenant_id]
    assert await tenancy.get_for(own.tenant_id, ANNA) == own
    assert (await tenancy.members(own.tenant_id, ANNA))[1] == 1
    for attempt in (
        tenancy.get_for(other.tenant_id, ANNA),
        tenancy.members(other.tenant_id, ANNA),
        tenancy.put_member(other.tenant_id, "anna", "admin", ANNA),
        tenancy.put_member(other.tenant_id, "carl", "member", ANNA),
        tenancy.remove_member(other.tenant_id, "bert", ANNA),
        tenancy.invitations(other.tenant_id, ANNA),
        tenancy.invite(other.tenant_id, "bert", "member", ANNA),
    ):
        with pytest.raises(TenantNotFound):
            await attempt
    for denied in (
        tenancy.create(TenantTerms(name="Mine"), ANNA),
        tenancy.update(own.tenant_id, TenantTerms(name="Mine"), ANNA),
        tenancy.delete(own.tenant_id, ANNA),
    ):
        with pytest.raises(Denied):
            await denied
    assert await tenancy.get_for(other.tenant_id, ROOT) == other


async def account(database: Database, user_id: str, **values: str) -> Principal:
    """An account with that id."""
    usual = {"username": user_id, "role": "user", "status": "active", "created_at": now()}
    row = {"id": user_id, **usual, **values}
    await database.write(lambda c: c.execute(insert(tables.users), row).rowcount)
    return Principal(user_id, "user", "cookie")


def now() -> datetime:
    return datetime.now(UTC)


@requirement("R35.3")
async def test_a_tenants_administrator_cannot_take_anyone_in_or_out(
    tenancy: Tenancy, database: Database
) -> None:
    own = await acme(tenancy)
    other = await tenancy.create(TenantTerms(name="Other"), ROOT)
    await tenancy.put_member(own.tenant_id, "bert", "member", ROOT)
    await tenancy.put_member(other.tenant_id, "carl", "member", ROOT)
    await account(database, "dora")
    await account(database, "chief", role="admin")
    for foreign in ("carl", "dora", "chief", "unknown"):
        with pytest.raises(NotFound) as refused:
            await tenancy.put_member(own.tenant_id, foreign, "member", ANNA)
        assert "Other" not in refused.value.message
        assert refused.value.details is None
    for member in ("bert", "anna", "unknown"):
        with pytest.raises(Denied):
            await tenancy.remove_member(own.tenant_id, member, ANNA)
    assert (await tenancy.put_member(own.tenant_id, "bert", "admin", ANNA)).role == "admin"
    assert (await tenancy.members(own.tenant_id, ANNA))[1] == 2
    await tenancy.put_member(own.tenant_id, "chief", "member", ROOT)
    await tenancy.remove_member(own.tenant_id, "bert", ROOT)
    assert (await tenancy.members(own.tenant_id, ANNA))[1] == 2


@requirement("R35.3")
async def test_an_account_joins_when_its_user_accepts_and_not_before(
    tenancy: Tenancy, database: Database
) -> None:
    own = await acme(tenancy)
    other = await tenancy.create(TenantTerms(name="Other"), ROOT)
    dora = await account(database, "dora")
    made = await tenancy.invite(own.tenant_id, "dora", "member", ANNA)
    again = await tenancy.invite(own.tenant_id, "dora", "admin", ANNA)
    await tenancy.invite(other.tenant_id, "dora", "member", ROOT)
    assert (made.tenant_name, made.invited_by, again.role) == ("Acme", "anna", "admin")
    assert await tenancy.invitations(own.tenant_id, ANNA) == [again]
    assert await tenancy.tenant_of("dora") is None
    assert [each.tenant_name for each in await tenancy.invitations_of(dora)] == ["Acme", "Other"]
    with pytest.raises(NotFound):
        await tenancy.accept(own.tenant_id, BERT)
    joined = await tenancy.accept(own.tenant_id, dora)
    assert (joined.user_id, joined.role) == ("dora", "admin")
    assert await tenancy.tenant_id_of("dora") == own.tenant_id
    assert await tenancy.invitations_of(dora) == []  # the other one is gone, too
    for tenant in (own, other):
        with pytest.raises(NotFound):
            await tenancy.accept(tenant.tenant_id, dora)


@requirement("R35.3")
async def test_only_a_free_account_is_invited_and_only_while_it_is_free(
    tenancy: Tenancy, database: Database
) -> None:
    own = await acme(tenancy)
    other = await tenancy.create(TenantTerms(name="Other"), ROOT)
    await account(database, "chief", role="admin")
    await account(database, "gone", status="disabled")
    await account(database, "taken")
    await tenancy.put_member(other.tenant_id, "taken", "member", ROOT)
    texts = set[str]()
    for user_id in ("chief", "gone", "taken", "anna", "unknown"):
        for caller in (ANNA, ROOT):
            with pytest.raises(NotFound) as refused:
                await tenancy.invite(own.tenant_id, user_id, "member", caller)
            texts.add(refused.value.message.replace(user_id, "X"))
    assert len(texts) == 1  # nothing says which of them exists
    with pytest.raises(TenantNotFound):
        await tenancy.invite(other.tenant_id, "chief", "member", ANNA)

    dora = await account(database, "dora")
    await tenancy.invite(own.tenant_id, "dora", "member", ANNA)
    promoted = update(tables.users).where(tables.users.c.id == "dora").values(role="admin")
    await database.write(lambda c: c.execute(promoted).rowcount)
    with pytest.raises(NotFound):
        await tenancy.accept(own.tenant_id, dora)
    assert await tenancy.tenant_of("dora") is None


async def test_an_invitation_ends_when_it_is_withdrawn_declined_or_old(
    tenancy: Tenancy, database: Database
) -> None:
    own = await acme(tenancy)
    dora = await account(database, "dora")

    async def invited() -> None:
        await tenancy.invite(own.tenant_id, "dora", "member", ANNA)

    await invited()
    with pytest.raises(Denied):
        await tenancy.withdraw(own.tenant_id, "dora", BERT)
    await tenancy.withdraw(own.tenant_id, "dora", ANNA)
    with pytest.raises(NotFound):
        await tenancy.accept(own.tenant_id, dora)
    await invited()
    await tenancy.withdraw(own.tenant_id, "dora", dora)
    with pytest.raises(NotFound):
        await tenancy.withdraw(own.tenant_id, "dora", dora)
    await invited()
    old = update(people.tenant_invitations).values(expires_at=now() - timedelta(seconds=1))
    await database.write(lambda c: c.execute(old).rowcount)
    assert await tenancy.invitations_of(dora) == []
    assert await tenancy.invitations(own.tenant_id, ANNA) == []
    with pytest.raises(NotFound):
        await tenancy.accept(own.tenant_id, dora)


@requirement("R35.4")
async def test_an_invitation_is_no_way_round_the_limit_of_users(
    tenancy: Tenancy, database: Database
) -> None:
    own = await acme(tenancy, max_users=2)
    callers = [await account(database, name) for name in ("dora", "emil", "fred")]
    for caller in callers:
        await tenancy.invite(own.tenant_id, caller.user_id, "member", ANNA)
    ends = await asyncio.gather(
        *(tenancy.accept(own.tenant_id, each) for each in callers), return_exceptions=True
    )
    assert sum(isinstance(each, TenantLimit) for each in ends) == 2
    assert (await tenancy.members(own.tenant_id, ANNA))[1] == 2


@requirement("R35.3")
async def test_a_member_is_refused_whichever_tenant_they_ask_for(tenancy: Tenancy) -> None:
    own = await acme(tenancy)
    await tenancy.put_member(own.tenant_id, "bert", "member", ROOT)
    await tenancy.put_member(own.tenant_id, "anna", "member", ROOT)  # no longer administrator
    for caller in (ANNA, BERT):
        for refused in (
            tenancy.list_for(caller),
            tenancy.get_for(own.tenant_id, caller),
            tenancy.get_for("nowhere", caller),
            tenancy.members(own.tenant_id, caller),
            tenancy.put_member(own.tenant_id, "bert", "admin", caller),
            tenancy.invitations(own.tenant_id, caller),
        ):
            with pytest.raises(Denied):
                await refused


# -- what it allows -----------------------------------------------------------------------------


@requirement("R35.5")
async def test_a_switch_counts_at_once_and_what_is_not_named_is_on(tenancy: Tenancy) -> None:
    own = await acme(tenancy)
    assert await tenancy.check_agent("anna", "research") == own
    off = TenantTerms(name="Acme", features_enabled={"agent:research": False, "mcp": True})
    await tenancy.update(own.tenant_id, off, ROOT)
    with pytest.raises(AgentDisabled):
        await tenancy.check_agent("anna", "research")
    found = await tenancy.check_agent("anna", "sql")
    assert found is not None
    assert (found.has("mcp"), found.has("tool:shell"), found.has_all) == (True, True, False)
    assert await tenancy.check_agent("nobody", "research") is None


async def test_a_change_elsewhere_is_seen_once_the_lookup_is_old(
    tenancy: Tenancy, store: TenantStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = await acme(tenancy, workspace_quota=10)
    assert await tenancy.tenant_of("anna") == own
    await store.update(own.tenant_id, TenantTerms(name="Changed", workspace_quota=20))
    remembered = await tenancy.tenant_of("anna")
    assert remembered is not None
    assert (remembered.name, tenancy.known_quota("anna")) == ("Acme", 10)
    later = time.monotonic() + 6
    monkeypatch.setattr("dataagent_core.identity.tenancy.time.monotonic", lambda: later)
    seen = await tenancy.tenant_of("anna")
    assert seen is not None
    assert (seen.name, tenancy.known_quota("anna")) == ("Changed", 20)


@requirement("R35.1")
async def test_with_tenants_off_nobody_is_in_one_and_nothing_is_changed(
    tenancy: Tenancy, database: Database
) -> None:
    own = await acme(tenancy, features_enabled={"agent:sql": False}, workspace_quota=1)
    off = Tenancy(database, is_on=False)
    assert await off.tenant_of("anna") is None
    assert await off.check_agent("anna", "sql") is None
    assert await off.most_sessions("anna") is None
    assert off.known_quota("anna") is None
    assert len(await off.list_for(ROOT)) == 1
    with pytest.raises(Denied):
        await off.list_for(ANNA)
    with pytest.raises(Conflict, match="DATAAGENT_MULTI_TENANT"):
        await off.create(TenantTerms(name="New"), ROOT)
    with pytest.raises(Conflict, match="DATAAGENT_MULTI_TENANT"):
        await off.put_member(own.tenant_id, "bert", "member", ROOT)
