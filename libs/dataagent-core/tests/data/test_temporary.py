"""A source that is lent to one process: queried like any other, and kept nowhere."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from pydantic import SecretStr

from dataagent_core.config import Settings
from dataagent_core.data.runtime import open_standalone_runtime
from dataagent_core.data.service import QueryContext
from dataagent_core.data.sources import NewSource
from dataagent_core.errors import BadInput, QueryRefused, SourceUnavailable

FOLDER = "sources"


def lent(tmp_path: Path, name: str = "sales") -> NewSource:
    path = tmp_path / "sales.csv"
    path.write_text("region,amount\nNorth,0.10\nNorth,0.20\n")
    return NewSource(name, files=(str(path),))


async def test_what_is_lent_is_the_usual_source_and_goes_the_guarded_path(tmp_path: Path) -> None:
    async with open_standalone_runtime(Settings(home=tmp_path / "home")) as data:
        await data.service.add_temporary(lent(tmp_path), owner_id="ada")
        reader = await data.service.reader("ada")
        source = await data.service.source(reader)
        answered = await data.service.query(
            source, "SELECT sum(amount) AS total FROM sales", QueryContext(reader)
        )
        assert (source.name, source.is_temporary, source.dialect) == ("sales", True, "duckdb")
        assert answered.result.preview_rows == (("0.30",),)
        with pytest.raises(QueryRefused):
            await data.service.query(source, "DROP TABLE sales", QueryContext(reader))
        other = await data.service.reader("eve")
        assert [each.name for each in await data.service.sources.list_for(other)] == ["chinook"]


async def test_nothing_is_left_when_the_process_ends(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    async with open_standalone_runtime(settings) as data:
        await data.service.add_temporary(lent(tmp_path), owner_id="ada")
        assert list((settings.home_dir / FOLDER).iterdir())
    assert not list((settings.home_dir / FOLDER).iterdir())
    async with open_standalone_runtime(settings) as data:
        assert [each.name for each in await data.service.sources.list()] == ["chinook"]


@pytest.mark.slow
async def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    async with open_standalone_runtime(Settings(home=tmp_path / "home")) as data:
        first = await data.service.add_temporary(lent(tmp_path, "chinook"), owner_id="ada")
        second = await data.service.add_temporary(lent(tmp_path, "chinook"), owner_id="ada")
        assert (first.name, second.name) == ("chinook-2", "chinook-3")


async def test_what_cannot_be_opened_is_not_there_afterwards(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    async with open_standalone_runtime(Settings(home=tmp_path / "home")) as data:
        empty = NewSource("a", files=(str(tmp_path / "empty.csv"),))
        with pytest.raises(BadInput):
            await data.service.add_temporary(empty, owner_id="ada")
        missing = NewSource("b", url=SecretStr(f"sqlite:///{tmp_path / 'none.sqlite'}"))
        with pytest.raises(SourceUnavailable):
            await data.service.add_temporary(missing, owner_id="ada")
        assert [each.name for each in await data.service.sources.list()] == ["chinook"]


async def test_what_a_killed_process_left_behind_is_removed_in_the_end(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    folder = settings.home_dir / FOLDER
    folder.mkdir(parents=True)
    (folder / "temporary-old.duckdb").touch()
    long_ago = time.time() - 8 * 24 * 3600
    os.utime(folder / "temporary-old.duckdb", (long_ago, long_ago))
    (folder / "temporary-new.duckdb").touch()
    async with open_standalone_runtime(settings) as data:
        await data.service.add_temporary(lent(tmp_path), owner_id="ada")
        names = [path.name for path in folder.glob("*.duckdb")]
        assert "temporary-old.duckdb" not in names
        assert "temporary-new.duckdb" in names, "its process may still be at work"
