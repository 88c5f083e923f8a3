"""What the terminal stores is for its user alone, however the data directory was made."""

from __future__ import annotations

from pathlib import Path

from .program import dataagent


async def test_an_open_data_directory_is_closed_and_its_files_are_the_users_alone(
    home: Path,
) -> None:
    home.mkdir()
    home.chmod(0o755)
    told = await dataagent("-p", "!echo hi")
    assert (told.code, told.out) == (0, "hi\n")
    assert home.stat().st_mode & 0o777 == 0o700
    files = [each for each in home.iterdir() if each.is_file()]
    assert "dataagent.db" in {each.name for each in files}
    assert {each.name: each.stat().st_mode & 0o077 for each in files} == dict.fromkeys(
        (each.name for each in files), 0
    )


async def test_an_open_directory_of_something_else_is_refused_with_the_way_out(home: Path) -> None:
    home.mkdir()
    (home / "letter.txt").touch()
    home.chmod(0o755)
    told = await dataagent("-p", "!echo hi")
    assert told.code == 1
    assert f"error: Other users can read the data directory {home} (mode 755)" in told.err
    assert f"hint: chmod 700 {home}, or set DATAAGENT_HOME" in told.err
    assert "Traceback" not in told.err
