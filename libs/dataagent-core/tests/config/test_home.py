"""No other user of the machine can read the data directory."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dataagent_core.config import Settings
from dataagent_core.errors import Misconfigured
from dataagent_core.storage import open_database


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_an_open_data_directory_and_its_files_are_closed_with_a_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    for name in ("dataagent.db", "config.toml"):
        (home / name).touch()
        (home / name).chmod(0o644)
    assert Settings(home=home).ensure_home() == home
    assert mode_of(home) == 0o700
    assert {mode_of(each) for each in home.iterdir()} == {0o600}
    assert f"{home} was open to other users (mode 755)" in caplog.text
    assert f"{home / 'dataagent.db'} could be used by other users (mode 644)" in caplog.text
    caplog.clear()
    Settings(home=home).ensure_home()
    assert caplog.text == ""


def test_an_empty_open_directory_becomes_the_data_directory(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    tmp_path.chmod(0o777)
    Settings(home=tmp_path).ensure_home()
    assert mode_of(tmp_path) == 0o700


def test_an_open_directory_with_files_of_others_is_refused_and_left_as_it_is(
    tmp_path: Path,
) -> None:
    (tmp_path / "letter.txt").touch()
    tmp_path.chmod(0o755)
    with pytest.raises(Misconfigured) as refused:
        Settings(home=tmp_path).ensure_home()
    assert f"{tmp_path} (mode 755)" in refused.value.message
    assert f"chmod 700 {tmp_path}" in str(refused.value.details)
    assert mode_of(tmp_path) == 0o755
    tmp_path.chmod(0o700)
    assert Settings(home=tmp_path).ensure_home() == tmp_path


@pytest.mark.skipif(os.getuid() != 0, reason="giving a directory away takes root")
def test_an_open_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12345)
    tmp_path.chmod(0o755)
    with pytest.raises(Misconfigured, match="belongs to another user \\(id 12345\\)"):
        Settings(home=tmp_path).ensure_home()


async def test_the_database_is_for_its_owner_alone_wherever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "elsewhere" / "x.db"
    for _ in range(2):
        database = open_database(f"sqlite:///{path}")
        await database.ping()
        files = [each for each in path.parent.iterdir() if each.is_file()]
        assert {mode_of(each) for each in files} == {0o600}
        assert mode_of(path.parent) == 0o700
        await database.close()
        path.chmod(0o666)
