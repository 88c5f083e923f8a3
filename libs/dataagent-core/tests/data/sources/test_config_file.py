"""`sources.yaml`: what it may say, how a mistake is named, and what a start makes of it."""

from __future__ import annotations

import asyncio
import traceback
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, select, update

from dataagent_core.data.sources import (
    EVERYONE,
    ApplyReport,
    ConfiguredSource,
    Grant,
    NewSource,
    SourceStore,
    apply_sources,
    load_sources,
    read_sources,
)
from dataagent_core.data.types import QueryLimits
from dataagent_core.errors import BadInput, Conflict, Misconfigured
from dataagent_core.storage import Database, tables

FOLDER = Path("/etc/dataagent")
FILE = FOLDER / "sources.yaml"
SECRET = "p@ss/wörd:${X}"

WHOLE = """
sources:
  - name: 销售
    url: postgresql://${USER}:${PASSWORD}@${HOST}/sales?application_name=da
    description: Orders 订单
    time_zone: Asia/Shanghai
    default_policy: deny
    limits: {max_rows: 200000, timeout_seconds: 30}
    grants:
      - everyone
      - {user: dora}
      - {tenant: north}
      - {agent: sql}
    policies:
      - name: own region
        tables:
          orders: {where: "region = :user.region"}
  - name: reports
    folder: ./reports
    grants: everyone
  - name: two
    files: [a.csv, /srv/b.xlsx]
"""
ENVIRONMENT = {"USER": "reader", "PASSWORD": SECRET, "HOST": "db:5433"}


def read(text: str, **environment: str) -> list[ConfiguredSource]:
    return read_sources(text, file="sources.yaml", folder=FOLDER, environment=environment)


def test_a_file_says_all_there_is_to_say() -> None:
    sales, reports, two = read(WHOLE, **ENVIRONMENT)
    assert sales == ConfiguredSource(
        NewSource(
            name="销售",
            url=SecretStr(
                "postgresql://reader:p%40ss%2Fw%C3%B6rd%3A%24%7BX%7D@db:5433/sales"
                "?application_name=da"
            ),
            description="Orders 订单",
            time_zone="Asia/Shanghai",
            default_policy="deny",
            limits=QueryLimits(max_rows=200_000, timeout_seconds=30),
            grants=(
                Grant("agent", "sql"),
                EVERYONE,
                Grant("tenant", "north"),
                Grant("user", "dora"),
            ),
        ),
        policies={
            "own region": {
                "name": "own region",
                "tables": {"orders": {"where": "region = :user.region"}},
            }
        },
    )
    assert reports.new == NewSource(
        name="reports", folder="/etc/dataagent/reports", grants=(EVERYONE,)
    )
    assert two.new == NewSource(name="two", files=("/etc/dataagent/a.csv", "/srv/b.xlsx"))


def test_a_url_may_be_a_variable_as_a_whole() -> None:
    (source,) = read("sources: [{name: a, url: '${URL}'}]", URL="postgresql://u:x%40@h/d")
    assert source.new.url == SecretStr("postgresql://u:x%40@h/d")


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "sources: []\n", "{}\n"])
def test_an_empty_file_has_no_sources(text: str) -> None:
    assert read(text) == []


def test_a_file_is_read_whatever_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "sources.yaml"
    path.write_bytes(b"\xef\xbb\xbfsources:\r\n  - name: a\r\n    folder: x\r\n")
    (source,) = load_sources(path, environment={})
    assert source.new.folder == str(tmp_path / "x")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Misconfigured, match="UTF-8"):
        load_sources(path, environment={})


BAD: dict[str, tuple[str, str]] = {
    "not YAML": ("sources:\n  - name: a\n   url: x", "line 3"),
    "a tab": ("sources:\n\t- name: a", "line 2"),
    "an alias": ("sources:\n  - name: a\n    url: *s3cr3t", "line 3"),
    "a tag": (
        "sources:\n  - name: a\n    folder: x\n    policies:\n      - {name: !!python/name:os.x y}",
        "line 5",
    ),
    "no list": ("sources: x", "line 1: sources must be a list"),
    "no object": ("sources:\n  - x", r"line 2: sources\[0\] must be an object"),
    "no object at all": ("- x", "line 1 must be an object"),
    "unknown at the top": ("source: []", "source is not known. Known are: sources"),
    "unknown field": (
        "sources:\n  - name: a\n    uri: s3cr3t",
        r"line 3: sources\[0\].uri is not known. Known are: default_policy",
    ),
    "twice the field": (
        "sources:\n  - name: a\n    name: b",
        r"line 3: sources\[0\].name is given",
    ),
    "no name": ("sources:\n  - url: sqlite:///s3cr3t", r"line 2: sources\[0\] needs a name"),
    "bad name": ("sources:\n  - name: a b\n    folder: x", r"line 2: sources\[0\] does not do"),
    "empty name": ("sources:\n  - name:\n    folder: x", "name must be text"),
    "twice the name": (
        "sources:\n  - {name: a, folder: x}\n  - {name: a, folder: y}",
        "line 3.*'a', which another",
    ),
    "no place": ("sources:\n  - name: a", "exactly one of"),
    "two places": ("sources:\n  - {name: a, folder: x, files: [y]}", "exactly one of"),
    "bad url": ("sources:\n  - {name: a, url: s3cr3t}", "URL cannot be read"),
    "torn url": ("sources:\n  - {name: a, url: 'x://u:p@s3cr3t@h/d'}", "URL cannot be read"),
    "unset variable": (
        "sources:\n  - name: a\n    url: x://u:${NO_SUCH}@h",
        r"line 3: sources\[0\].url asks for the environment variable 'NO_SUCH'",
    ),
    "bad zone": ("sources:\n  - {name: a, folder: x, time_zone: Nowhere}", "'Nowhere'"),
    "bad policy default": (
        "sources:\n  - name: a\n    folder: x\n    default_policy: maybe",
        r"line 4: sources\[0\].default_policy does not do",
    ),
    "bad limit": (
        "sources:\n  - name: a\n    folder: x\n    limits:\n      max_rows: many",
        r"line 5: sources\[0\].limits.max_rows must be a number",
    ),
    "zero limit": ("sources:\n  - {name: a, folder: x, limits: {max_rows: 0}}", "max_rows"),
    "unknown limit": ("sources:\n  - {name: a, folder: x, limits: {rows: 1}}", "limits.rows"),
    "bad grant": ("sources:\n  - {name: a, folder: x, grants: [all]}", r"grants\[0\] must be"),
    "two in a grant": (
        "sources:\n  - {name: a, folder: x, grants: [{user: u, agent: a}]}",
        "must name one of",
    ),
    "unknown subject": ("sources:\n  - {name: a, folder: x, grants: [{group: g}]}", "group is not"),
    "empty subject": (
        "sources:\n  - {name: a, folder: x, grants: [{user: ''}]}",
        "user needs an id",
    ),
    "policy without name": (
        "sources:\n  - name: a\n    folder: x\n    policies:\n      - tables: {}",
        r"line 5: sources\[0\].policies\[0\] needs a name",
    ),
    "policies alike": (
        "sources:\n  - {name: a, folder: x, policies: [{name: p}, {name: p}]}",
        "which another one has",
    ),
    "policy with a date": (
        "sources:\n  - {name: a, folder: x, policies: [{name: p, since: 2024-01-01}]}",
        r"policies\[0\] does not do",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_named_with_its_line_and_no_secret(case: str) -> None:
    text, message = BAD[case]
    with pytest.raises(Misconfigured, match=message) as refused:
        read(text)
    assert refused.value.message.startswith("sources.yaml")
    told = "".join(traceback.format_exception(refused.value))
    assert "s3cr3t" not in told


def test_a_policy_that_makes_no_sense_is_named_with_its_line() -> None:
    def check(rules: dict[str, Any]) -> None:
        if "tables" not in rules:
            raise BadInput("names no table.")

    text = "sources:\n  - name: a\n    folder: x\n    policies:\n      - {name: p}"
    with pytest.raises(Misconfigured, match=r"line 5: .*policies\[0\].* names no table"):
        read_sources(text, file="sources.yaml", folder=FOLDER, environment={}, check_policy=check)


# -- applying -------------------------------------------------------------------------------


async def applied(
    sources: SourceStore, configured: list[ConfiguredSource], file: Path = FILE
) -> ApplyReport:
    remove = partial(sources.delete, by_config=True)
    return await apply_sources(sources, file, configured, remove=remove)


async def test_applying_twice_changes_nothing(sources: SourceStore) -> None:
    configured = read(WHOLE, **ENVIRONMENT)
    assert await applied(sources, configured) == ApplyReport(
        created=("销售", "reports", "two"), updated=(), removed=(), unchanged=()
    )
    before = await sources.list()
    assert all(source.is_from_config for source in before)
    assert await applied(sources, configured) == ApplyReport(
        created=(), updated=(), removed=(), unchanged=("销售", "reports", "two")
    )
    assert await sources.list() == before


async def test_the_store_follows_the_file(sources: SourceStore) -> None:
    own = await sources.create(NewSource("own", folder="/x"))
    await applied(sources, read(WHOLE, **ENVIRONMENT))
    sales = await sources.by_name("销售")
    assert sales is not None
    theirs = await sources.policies.put(sales.source_id, "by api", {"tables": {}})
    changed = WHOLE.replace("Orders 订单", "Orders").replace("./reports", "./other")
    changed = changed[: changed.index("  - name: two")].replace("own region", "their region")
    assert await applied(sources, read(changed, **ENVIRONMENT)) == ApplyReport(
        created=(), updated=("销售", "reports"), removed=("two",), unchanged=()
    )
    after = {source.name: source for source in await sources.list()}
    assert set(after) == {"own", "销售", "reports"}
    assert after["own"] == own
    assert after["销售"].source_id == sales.source_id
    assert after["销售"].description == "Orders"
    assert after["销售"].address_changed_at == sales.address_changed_at  # it did not move
    assert after["reports"].folder == "/etc/dataagent/other"
    policies = await sources.policies.list(sales.source_id)
    assert [policy.name for policy in policies] == ["by api", "their region"]
    assert policies[0] == theirs


async def test_a_changed_password_reaches_the_store(sources: SourceStore) -> None:
    await applied(sources, read(WHOLE, **ENVIRONMENT))
    changed = await applied(sources, read(WHOLE, **{**ENVIRONMENT, "PASSWORD": "new"}))
    assert changed.updated == ("销售",)
    sales = await sources.by_name("销售")
    assert sales is not None
    url = await sources.url_of(sales.source_id)
    assert url is not None
    assert ":new@" in url.get_secret_value()


async def test_a_source_that_comes_back_has_the_id_it_had(sources: SourceStore) -> None:
    configured = read(WHOLE, **ENVIRONMENT)
    await applied(sources, configured)
    ids = {source.name: source.source_id for source in await sources.list()}
    assert (await applied(sources, [])).removed == tuple(sorted(ids))
    assert await sources.list() == []
    await applied(sources, configured)
    assert {source.name: source.source_id for source in await sources.list()} == ids


async def test_what_another_file_defined_stays(sources: SourceStore) -> None:
    other, rest = Path("/srv/other.yaml"), WHOLE[: WHOLE.index("  - name: reports")]
    await applied(sources, read(WHOLE, **ENVIRONMENT))
    assert await applied(sources, [], other) == ApplyReport((), (), (), ())
    names = [source.name for source in await sources.list()]
    assert names == ["reports", "two", "销售"]
    gone = await applied(sources, read(rest, **ENVIRONMENT))
    assert gone.removed == ("reports", "two")


async def test_a_source_that_two_files_name_is_of_the_last_one(sources: SourceStore) -> None:
    other, configured = Path("/srv/other.yaml"), read(WHOLE, **ENVIRONMENT)
    await applied(sources, configured)
    assert (await applied(sources, configured, other)).updated == ("销售", "reports", "two")
    assert (await applied(sources, [])).removed == ()
    assert (await applied(sources, [], other)).removed == ("reports", "two", "销售")


async def test_without_its_file_a_source_is_removed_by_hand(
    sources: SourceStore, database: Database
) -> None:
    await applied(sources, read(WHOLE, **ENVIRONMENT))
    reports = await sources.by_name("reports")
    assert reports is not None
    with pytest.raises(Conflict, match=r"/etc/dataagent/sources\.yaml"):
        await sources.delete(reports.source_id)
    without_file = SourceStore(database)
    await without_file.delete(reports.source_id)
    assert await sources.by_name("reports") is None


async def test_a_source_whose_file_was_not_recorded_is_taken_over_or_removed_by_hand(
    sources: SourceStore, database: Database
) -> None:
    """Rows of earlier versions say only that a file defined them."""

    def forget_file(connection: Connection) -> None:
        for row in connection.execute(select(tables.data_sources)).all():
            kept = {name: value for name, value in row.settings.items() if name != "config_file"}
            statement = update(tables.data_sources).where(
                tables.data_sources.c.source_id == row.source_id
            )
            connection.execute(statement.values(settings={**kept, "is_from_config": True}))

    await applied(sources, read(WHOLE, **ENVIRONMENT))
    await database.write(forget_file)
    rest = read(WHOLE[: WHOLE.index("  - name: two")], **ENVIRONMENT)
    assert await applied(sources, rest) == ApplyReport((), ("销售", "reports"), (), ())
    two = await sources.by_name("two")
    assert two is not None
    await sources.delete(two.source_id)
    assert (await applied(sources, [])).removed == ("reports", "销售")


async def test_a_name_registered_elsewhere_is_not_taken_over(sources: SourceStore) -> None:
    own = await sources.create(NewSource("reports", folder="/x"))
    with pytest.raises(Misconfigured, match=r"'reports'.*Rename one"):
        await applied(sources, read(WHOLE, **ENVIRONMENT))
    assert await sources.list() == [own]


async def test_two_processes_may_start_at_the_same_moment(sources: SourceStore) -> None:
    configured = read(WHOLE, **ENVIRONMENT)
    await asyncio.gather(*(applied(sources, configured) for _ in range(4)))
    assert [source.name for source in await sources.list()] == ["reports", "two", "销售"]
    sales = await sources.by_name("销售")
    assert sales is not None
    assert len(await sources.policies.list(sales.source_id)) == 1


async def test_a_policy_of_the_file_is_changed_in_the_file(sources: SourceStore) -> None:
    await applied(sources, read(WHOLE, **ENVIRONMENT))
    sales = await sources.by_name("销售")
    assert sales is not None
    (policy,) = await sources.policies.list(sales.source_id)
    assert policy.is_from_config
    with pytest.raises(Conflict, match="configuration file"):
        await sources.policies.delete(sales.source_id, policy.policy_id)
    with pytest.raises(Conflict, match="configuration file"):
        await sources.policies.put(sales.source_id, "p", {}, policy_id=policy.policy_id)
