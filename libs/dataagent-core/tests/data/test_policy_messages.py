"""What MariaDB says of a statement, in errors and warnings, tells nothing that a policy hides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dataagent_core.data.service import DataService, QueryContext
from dataagent_core.data.sources import Source
from dataagent_core.errors import QueryFailed

Register = Callable[..., Awaitable[Source]]
POLICY: dict[str, Any] = {
    "name": "p",
    "subjects": "everyone",
    "tables": {
        "people": {"row_filter": "region = 'EU'", "masks": {"token": "hash", "phone": "last4"}}
    },
}

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


async def test_that_hidden_rows_are_warned_of_is_not_shown(
    service: DataService, source: Source, asked: QueryContext
) -> None:
    answered = await service.query(source, "SELECT id FROM people WHERE name = 0", asked)
    assert answered.receipt.warnings == ()
    free = await service.query(source, "SELECT n FROM numbers WHERE 'x' = n", asked)
    assert "Truncated incorrect" in free.receipt.warnings[0]


async def test_an_error_does_not_quote_the_policy(
    service: DataService, source: Source, asked: QueryContext
) -> None:
    for sql in QUOTING:
        with pytest.raises(QueryFailed) as failed:
            await service.query(source, sql, asked)

        assert failed.value.message.startswith("MySQL: ")
        assert failed.value.message.endswith("…")
        assert "5c5c" not in failed.value.message
        assert "SELECT" not in failed.value.message


async def test_an_error_that_quotes_the_author_is_shown_whole(
    service: DataService, source: Source, asked: QueryContext
) -> None:
    with pytest.raises(QueryFailed, match=r"near '\(a\)' at line 1"):
        await service.query(source, "SELECT p.id FROM people AS p, numbers AS x(a)", asked)
