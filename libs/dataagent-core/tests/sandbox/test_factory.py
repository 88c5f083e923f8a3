"""Which sandbox the settings give: as asked, the first that stands, or none."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.errors import Misconfigured, SandboxUnavailable
from dataagent_core.sandbox import factory
from dataagent_core.sandbox.factory import (
    FirstWall,
    create_sandboxes,
    limits_of,
    require_wall,
    wall_problem,
)
from dataagent_core.sandbox.types import SandboxHome, SandboxLimits, WallProcess
from tests.requirements import requirement

NOWHERE = "unix:///nowhere/docker.sock"


@dataclass
class FakeWall:
    """A wall that stands or does not; real ones are attacked elsewhere, here only order counts."""

    name: str
    problem: str | None = None
    started: list[str] = field(default_factory=list[str])
    is_closed: bool = False

    async def start(self, home: SandboxHome, limits: SandboxLimits) -> WallProcess:
        self.started.append(home.sandbox_id)
        if self.problem is not None:
            raise SandboxUnavailable(self.problem)
        return self  # pyright: ignore[reportReturnType] nobody talks to it

    def place_of(self, workspace: Path) -> str | None:
        return f"{self.name}:{workspace}"

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.fixture
def without_walls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with neither bubblewrap nor Docker."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(factory, "may_have_docker", _never)  # its socket has a fixed place


def _never(*_urls: str | None) -> bool:
    return False


def settings_with(tmp_path: Path, **given: Any) -> Settings:
    return Settings(home=tmp_path, sandbox_docker_url=NOWHERE, sample_data=False, **given)


@requirement("S10.3")
async def test_the_first_possible_wall_is_chosen_once() -> None:
    walls = [FakeWall("one", "no one."), FakeWall("two"), FakeWall("three")]
    chosen = FirstWall(walls, hint="Do without.")
    assert (chosen.name, chosen.place_of(Path("/w"))) == ("auto", None)
    for number in "ab":
        await chosen.start(SandboxHome(number), SandboxLimits())
    assert (chosen.name, chosen.place_of(Path("/w"))) == ("two", "two:/w")
    assert [wall.started for wall in walls] == [["a"], ["a", "b"], []]
    await chosen.aclose()
    assert all(wall.is_closed for wall in walls)


@requirement("S10.3")
async def test_where_no_wall_stands_each_says_why_and_nothing_runs() -> None:
    chosen = FirstWall([FakeWall("one", "no one."), FakeWall("two", "no two.")], hint="Do without.")
    with pytest.raises(SandboxUnavailable) as refused:
        await chosen.start(SandboxHome("a"), SandboxLimits())
    assert refused.value.message == (
        "No sandbox can be built. one: no one. two: no two. Do without."
    )


@requirement("S10.3")
def test_unset_without_any_wall_and_off_mean_no_sandbox(
    tmp_path: Path, without_walls: None
) -> None:
    assert create_sandboxes(Settings(home=tmp_path)) is None
    assert create_sandboxes(Settings(home=tmp_path, sandbox="off")) is None
    assert create_sandboxes(Settings(home=tmp_path, sandbox="auto")) is not None


@requirement("S10.3")
@pytest.mark.parametrize("kind", ["auto", "docker", "bwrap"])
async def test_a_wall_set_by_name_must_be_possible_or_nothing_starts(
    tmp_path: Path, without_walls: None, kind: str
) -> None:
    with pytest.raises(Misconfigured, match=rf"DATAAGENT_SANDBOX={kind}: .*DATAAGENT_SANDBOX=off"):
        async with open_core(settings_with(tmp_path, sandbox=kind)):
            raise AssertionError("it started")


@requirement("S10.3")
async def test_the_reason_names_the_remedy(tmp_path: Path, without_walls: None) -> None:
    problem = await wall_problem(settings_with(tmp_path))
    assert problem is not None
    assert "apt-get install bubblewrap" in problem
    assert "DATAAGENT_SANDBOX_DOCKER_URL" in problem
    await require_wall(settings_with(tmp_path))  # unset asks for nothing


@requirement("S10.3")
@pytest.mark.parametrize("kind", ["subprocess", "landlock"])
def test_a_reduced_wall_is_refused_where_tenants_share_a_server(tmp_path: Path, kind: str) -> None:
    with pytest.raises(Misconfigured, match="Use bwrap or docker"):
        create_sandboxes(settings_with(tmp_path, sandbox=kind, multi_tenant=True))


@requirement("S10.3")
@pytest.mark.parametrize("kind", ["subprocess", "landlock", "chroot"])
def test_a_wall_that_does_not_exist_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    with pytest.raises(Misconfigured, match=r"Use one of: auto, bwrap, docker, off"):
        create_sandboxes(settings_with(tmp_path, sandbox=kind))


ANOTHER = """
class Wall:
    name = "mine"

def made(settings, limits):
    assert limits.cpus == settings.sandbox_cpus
    return Wall()

def broken(settings, limits):
    raise RuntimeError("no key")
"""
POINTS = """[dataagent.sandboxes]
mine = walls_of_mine:made
broken = walls_of_mine:broken
"""


@requirement("S10.3")
def test_another_package_may_bring_a_wall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed as packages are: a module, and beside it what is known of its distribution."""
    about = tmp_path / "walls_of_mine-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: walls-of-mine\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    (tmp_path / "walls_of_mine.py").write_text(ANOTHER)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    made = create_sandboxes(settings_with(tmp_path, sandbox="mine"))
    assert made is not None
    assert made.wall.name == "mine"
    with pytest.raises(Misconfigured, match="'broken' cannot be made: no key"):
        create_sandboxes(settings_with(tmp_path, sandbox="broken"))
    with pytest.raises(Misconfigured, match="Use one of: auto, bwrap, docker, off, broken, mine"):
        create_sandboxes(settings_with(tmp_path, sandbox="chroot"))


@requirement("S2.4.1a", "S10.3")
def test_limits_are_those_of_the_specification_and_follow_the_settings(tmp_path: Path) -> None:
    mib = 1024 * 1024
    assert limits_of(settings_with(tmp_path)) == SandboxLimits(
        memory_bytes=512 * mib,
        cpus=1.0,
        processes=64,
        wall_seconds=30.0,
        max_wall_seconds=300.0,
        file_bytes=64 * mib,
        disk_bytes=256 * mib,
        inodes=4096,
        output_bytes=mib,
        harvest_files=50,
        harvest_bytes=50 * mib,
    )
    changed = settings_with(
        tmp_path,
        sandbox_memory=100 * mib,
        sandbox_cpus=0.5,
        sandbox_timeout=600,
        sandbox_max_timeout=60,
        sandbox_disk=10 * mib,
        sandbox_files=100,
    )
    found = limits_of(changed)
    assert (found.memory_bytes, found.cpus) == (100 * mib, 0.5)
    assert (found.wall_seconds, found.max_wall_seconds, found.seconds(1000)) == (60, 60, 60)
    assert (found.disk_bytes, found.file_bytes, found.inodes) == (10 * mib, 10 * mib, 100)
