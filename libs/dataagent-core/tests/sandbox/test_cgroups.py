"""Groups of both generations, in a directory that looks like the system's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dataagent_core.sandbox.cgroups import OWN_BYTES, Cgroups
from dataagent_core.sandbox.types import SandboxLimits
from tests.requirements import requirement

LIMITS = SandboxLimits(memory_bytes=1000, processes=7, cpus=0.5)


def written(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def own_group(controller: str) -> str:
    """In which group of the first generation this process is."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    groups = {line.split(":")[1]: line.split(":")[2].lstrip("/") for line in lines}
    return groups.get(controller, "")


@requirement("S10.3")
def test_the_second_generation_has_one_group_with_all_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Path.mkdir

    def mkdir(self: Path, *, exist_ok: bool) -> None:
        made(self, exist_ok=exist_ok)
        (self / "cgroup.controllers").write_text("cpu memory pids")  # as the system does

    (tmp_path / "cgroup.controllers").write_text("cpu memory pids")
    monkeypatch.setattr(Path, "mkdir", mkdir)
    group = Cgroups(tmp_path).make("s1", 42, LIMITS)
    assert group is not None
    parent = tmp_path / f"dataagent-{os.getpid()}"
    assert (parent / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"
    values = written(parent / "s1")
    assert {name: values[name] for name in ("memory.max", "pids.max", "cpu.max")} == {
        "memory.max": str(1000 + OWN_BYTES),
        "pids.max": "9",
        "cpu.max": "50000 100000",
    }
    assert values["cgroup.procs"] == "42"
    (parent / "s1" / "memory.events").write_text("low 0\noom 3\noom_kill 2\n")
    assert group.memory_kills() == 2


@requirement("S10.3")
def test_the_first_generation_has_a_group_for_each(tmp_path: Path) -> None:
    folders = {name: tmp_path / name / own_group(name) for name in ("memory", "pids", "cpu")}
    for folder in folders.values():
        folder.mkdir(parents=True)
    assert Cgroups(tmp_path).make("s1", 42, LIMITS) is not None
    name = f"dataagent-{os.getpid()}/s1"
    assert written(folders["memory"] / name)["memory.limit_in_bytes"] == str(1000 + OWN_BYTES)
    assert written(folders["pids"] / name)["pids.max"] == "9"
    assert written(folders["cpu"] / name)["cpu.cfs_quota_us"] == "50000"


@requirement("G16", "S10.3")
def test_groups_of_a_dead_server_are_removed(tmp_path: Path) -> None:
    left = tmp_path / "memory" / own_group("memory") / "dataagent-999999999"
    (left / "s1").mkdir(parents=True)
    Cgroups(tmp_path).make("s1", 42, LIMITS)
    assert not left.exists()


@requirement("S10.3")
def test_where_no_group_can_be_made_there_is_none(tmp_path: Path) -> None:
    assert Cgroups(tmp_path / "nothing").make("s1", 42, LIMITS) is None


@requirement("S10.3")
def test_closing_waits_for_no_group_that_others_in_the_process_use(
    caplog: pytest.LogCaptureFixture,
) -> None:
    one, two = Cgroups(kind="closing"), Cgroups(kind="closing")
    if one.make("s1", None, LIMITS) is None or (group := two.make("s2", None, LIMITS)) is None:
        pytest.skip("no control groups can be made here")
    one.close()
    assert caplog.messages == []  # it would say that a group could not be removed
    assert all(door.parent.exists() for door in group.cgroup_files)
    two.close()
    assert not any(door.parent.parent.exists() for door in group.cgroup_files)
