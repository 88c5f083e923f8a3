"""From what is typed to where a source is; secrets come from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataagent_cli.data.named_sources import PromptCancelled, parse_location
from dataagent_core.errors import BadInput


async def typed(_name: str) -> str | None:
    return "a b@c/d"


async def leaves(_name: str) -> str | None:
    return None


async def url_of(written: str, **variables: str) -> str:
    place = await parse_location(written, environment=variables, ask=typed)
    assert place.url is not None
    return place.url.get_secret_value()


async def test_a_variable_is_spelled_as_its_place_in_the_url_needs_it() -> None:
    variables = {"USER": "me@home", "PASSWORD": "p@ss/word", "HOST": "db.example"}
    found = await url_of("postgresql://${USER}:${PASSWORD}@${HOST}/shop", **variables)
    assert found == "postgresql://me%40home:p%40ss%2Fword@db.example/shop"


async def test_a_whole_url_may_be_a_variable() -> None:
    url = "postgresql://me:pw@db.example/shop"
    assert await url_of("${SHOP}", SHOP=url) == url


async def test_an_end_belongs_to_the_last_beginning_before_it() -> None:
    assert await url_of("mysql://me@${A${B}/d", B="h") == "mysql://me@${Ah/d"


async def test_a_variable_that_is_not_set_is_asked_for() -> None:
    assert await url_of("mysql://me:${PW}@h/d") == "mysql://me:a%20b%40c%2Fd@h/d"


@pytest.mark.parametrize("written", ["mysql://me@h/d", "mysql://me:older@h/d"])
async def test_a_password_can_be_asked_for(written: str) -> None:
    place = await parse_location(written, environment={}, ask=typed, asks_password=True)
    assert place.url is not None
    assert place.url.get_secret_value() == "mysql://me:a%20b%40c%2Fd@h/d"


async def test_a_password_without_a_user_is_refused() -> None:
    with pytest.raises(BadInput, match="the URL names none"):
        await parse_location("mysql://h/d", environment={}, ask=typed, asks_password=True)


async def test_whoever_is_asked_may_leave() -> None:
    with pytest.raises(PromptCancelled):
        await parse_location("mysql://me:${PW}@h/d", environment={}, ask=leaves)


async def test_only_a_password_in_clear_counts_as_typed() -> None:
    clear = await parse_location("mysql://me:pw@h/d", environment={}, ask=None)
    hidden = await parse_location("mysql://me:${PW}@h/d", environment={"PW": "x"}, ask=None)
    assert (clear.is_password_typed, hidden.is_password_typed) == (True, False)


async def test_files_and_folders_are_named_in_full(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("a\n1\n")
    (tmp_path / "shop.duckdb").write_bytes(b"")
    folder = await parse_location(".", environment={}, ask=None)
    file = await parse_location("sales.csv", environment={}, ask=None)
    assert (folder.folder, file.files) == (str(tmp_path), (str(tmp_path / "sales.csv"),))
    assert await url_of("shop.duckdb") == f"duckdb:///{tmp_path}/shop.duckdb"
    assert await url_of("duckdb:///shop.duckdb") == f"duckdb:///{tmp_path}/shop.duckdb"
    assert await url_of("sqlite:////srv/shop.db") == "sqlite:////srv/shop.db"
