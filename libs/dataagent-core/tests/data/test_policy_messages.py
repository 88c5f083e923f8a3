"""What MariaDB says of a statement, in errors and warnings, tells nothing that a policy hides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dataagent_core.data.service import Asked, DataService
from dataagent_core.data.sources import Source
from dataagent_core.data.types import Reader
from dataagent_core.errors import QueryFailed

Register = Callable[..., Awaitable[Source]]
POLICY: dict[str, Any] = {
    "name": "p",
    "subjects": "everyone",
    "tables": {
        "people": {"row_filter": "region = 'EU'", "masks": {"token": "hash", "phone": "last4"}}
    },
}


WARNED = (
    *(
        f"SELECT id FROM people WHERE {condition}"
        for condition in (
            "name = 0",
            "0 < name",
            "id = name",
            "name IN (1, 2)",
            "name IN (SELECT n FROM numbers)",
            "name BETWEEN 1 AND 2",
            "name",
            "NOT name",
            "name OR id > 1",
            "name IS TRUE",
            "phone = 0",
            "YEAR(name) = 5",
            "NULLIF(name, 0) IS NULL",
            "IF(name, 1, 2) = 1",
            "LOWER(name) = 7",
            "CASE name WHEN 0 THEN 1 END = 1",
            "CASE WHEN name THEN 1 END = 1",
            "born = name",
            "EXISTS (SELECT 1 FROM numbers AS o WHERE o.n = people.name)",
        )
    ),
    "SELECT id FROM (SELECT id, name AS born FROM people) AS q WHERE born = 0",
    "WITH q(id, n) AS (SELECT id, name FROM people) SELECT id FROM q WHERE n = 0",
    "SELECT p.id FROM people AS p JOIN numbers AS o ON o.n = p.name",
    "SELECT p.id FROM people AS p JOIN numbers USING (name)",
    "SELECT p.id FROM people AS p NATURAL JOIN numbers",
    "SELECT q.x FROM (SELECT name = 0 AS x FROM people) AS q WHERE q.x = 1",
    "SELECT CAST(name AS INTEGER) FROM people",
)
QUOTING = (
    "SELECT a FROM numbers AS x(a) JOIN people ON 1 = 1",
    "SELECT EXP(LENGTH(token) * 1000) FROM people",
)

pytestmark = pytest.mark.parametrize("source_place", ["mysql"], indirect=True)


@pytest.fixture
async def source(source_place: Any, service: DataService, register: Register) -> Source:
    """People under the policy, the hidden one first; numbers without any."""
    made = source_place
    made.execute(
        "CREATE TABLE people (token VARCHAR(9), id INT, region VARCHAR(9), name VARCHAR(9), "
        "phone VARCHAR(9), born DATE)"
    )
    made.execute(
        "INSERT INTO people VALUES ('t0', 0, 'US', 'KEPT-0', 'KEPT-9990', '2000-01-01'), "
        "('t1', 1, 'EU', 'Ana', 'KEPT-0001', '2001-01-01'), "
        "('t2', 2, 'EU', 'Bo', 'KEPT-0002', '2002-01-01')"
    )
    made.execute("CREATE TABLE numbers (n INT, name INT)")
    made.execute("INSERT INTO numbers VALUES (1, 1)")
    found = await register(made.url)
    await service.sources.policies.put(found.source_id, "p", POLICY)
    return found


async def test_a_conversion_is_warned_of_for_visible_rows_alone(
    service: DataService, source: Source, asked: Asked
) -> None:
    for sql in WARNED:
        answered = await service.query(source, sql, asked)

        assert answered.receipt.warnings, sql
        assert not any(word in str(answered.receipt.warnings) for word in ("KEPT", "999")), sql


async def test_plain_conditions_get_no_fence(service: DataService, source: Source) -> None:
    plain = "name = 'Ana' AND id > 1 AND born < '2002-01-01' AND phone LIKE '%1' AND id IN (1, 2)"
    for sql in (
        f"SELECT id FROM people WHERE {plain}",
        "SELECT p.id FROM people AS p JOIN numbers AS o ON o.n = p.id WHERE p.region IS NOT NULL",
        "SELECT n FROM numbers WHERE n IN (SELECT id FROM people) AND NOT n = 2",
    ):
        plan = await service.check(source, sql, Reader("anna"))

        assert "LIMIT" not in plan.sql_sent


async def test_an_error_does_not_quote_the_policy(
    service: DataService, source: Source, asked: Asked
) -> None:
    for sql in QUOTING:
        with pytest.raises(QueryFailed) as failed:
            await service.query(source, sql, asked)

        assert failed.value.message.startswith("MySQL: ")
        assert failed.value.message.endswith("…")
        assert "5c5c" not in failed.value.message
        assert "SELECT" not in failed.value.message


async def test_an_error_that_quotes_the_author_is_shown_whole(
    service: DataService, source: Source, asked: Asked
) -> None:
    with pytest.raises(QueryFailed, match=r"near '\(a\)' at line 1"):
        await service.query(source, "SELECT p.id FROM people AS p, numbers AS x(a)", asked)
