"""Code in a project: it has the folder itself, and nothing else of this machine."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from dataagent_core.config import Settings
from dataagent_core.errors import Misconfigured
from dataagent_core.sandbox import BwrapWall, PoolSettings, Sandboxes, SandboxSession
from dataagent_core.sandbox.factory import create_wall, limits_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("place") / "project"
    root.mkdir(mode=0o700)
    subprocess.run(["git", "-C", root, "init", "-q"], check=True)
    (root / "a.txt").write_text("one")
    (root.parent / "outside.txt").write_text("not yours")
    (root / "up").symlink_to("../outside.txt")
    return root


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def session(project: Path) -> AsyncGenerator[SandboxSession]:
    sandboxes = Sandboxes(
        BwrapWall(project=project),
        settings=PoolSettings(ready=0),
        workspace_of=lambda _user_id: project,
    )
    yield await sandboxes.session("ann", "t1")
    await sandboxes.aclose()


async def test_commands_and_python_work_in_the_folder_itself(
    session: SandboxSession, project: Path
) -> None:
    done = await session.run_command("cat a.txt; echo two > made.txt; pwd")
    assert (done.stdout, done.status) == ("one/workspace\n", "ok")
    assert (project / "made.txt").read_text() == "two\n"
    owner = project.stat()
    made = (project / "made.txt").stat()
    assert (made.st_uid, made.st_gid) == (owner.st_uid, owner.st_gid)
    (project / "made.txt").write_text("by hand")
    seen = await session.run_python("open('made.txt').read()")
    assert seen.stdout == "'by hand'\n"
    assert session.uncommitted == []


async def test_nothing_of_ours_appears_in_it_and_output_comes_back(
    session: SandboxSession, project: Path
) -> None:
    code = "import matplotlib.pyplot as p; p.plot([1, 2]); open('/output/b.txt', 'w').write('b')"
    done = await session.run_python(code)
    assert {file.path for file in done.files} == {"output/b.txt", "output/figure_1.png"}
    assert not (project / "output").exists()
    [sent] = await session.adownload_files(["/output/b.txt"])
    assert sent.content == b"b"


async def test_a_folder_of_the_project_may_be_called_output(
    session: SandboxSession, project: Path
) -> None:
    done = await session.run_command("mkdir output && echo mine > output/x.txt && ls /output")
    assert "x.txt" not in done.stdout
    assert (project / "output/x.txt").read_text() == "mine\n"
    (project / "output/x.txt").unlink()
    (project / "output").rmdir()


async def test_the_repository_can_be_used_but_not_made_to_run_anything(
    session: SandboxSession, project: Path
) -> None:
    hook = project / ".git/hooks/pre-commit"
    tried = await session.run_command(
        "git add a.txt && git -c user.name=a -c user.email=a@b commit -qm one; git log --format=%s;"
        "echo evil > .git/hooks/pre-commit; git config core.fsmonitor evil; mv .git/hooks x;"
        "rm -rf .git/config; mv .git elsewhere; true"
    )
    assert tried.stdout == "one\n"
    assert not hook.exists()
    assert "evil" not in (project / ".git/config").read_text()
    assert (project / ".git/hooks").is_dir()


async def test_nothing_outside_of_it_can_be_reached(session: SandboxSession, project: Path) -> None:
    tried = await session.run_command(
        f"cat up; cat ../outside.txt; cat {project}/a.txt; ls {project.parent}; echo x > ../new;"
        "echo x > up; touch /x /opt/x /usr/x"
    )
    assert tried.stdout == ""
    assert (project.parent / "outside.txt").read_text() == "not yours"
    assert sorted(path.name for path in project.parent.iterdir()) == ["outside.txt", "project"]


@pytest.mark.slow
async def test_two_conversations_have_the_same_folder_and_their_own_temporary_files(
    project: Path,
) -> None:
    sandboxes = Sandboxes(
        BwrapWall(project=project),
        settings=PoolSettings(ready=0),
        workspace_of=lambda _user_id: project,
    )
    try:
        one = await sandboxes.session("ann", "t1")
        await one.run_command("echo x > shared.txt; echo x > /tmp/own.txt; echo x > /output/o.txt")
        two = await sandboxes.session("ann", "t2")
        seen = await two.run_command("cat shared.txt; ls /tmp /output")
    finally:
        await sandboxes.aclose()
        (project / "shared.txt").unlink(missing_ok=True)
    assert seen.stdout.startswith("x\n")
    assert "own.txt" not in seen.stdout
    assert "o.txt" not in seen.stdout


@pytest.mark.parametrize("wanted", ["docker", "e2b"])
async def test_a_sandbox_that_cannot_have_the_folder_is_refused(
    project: Path, tmp_path: Path, wanted: str
) -> None:
    with pytest.raises(Misconfigured, match="--no-project"):
        create_wall(Settings(home=tmp_path, project=project, sandbox=wanted))


async def test_files_may_be_larger_than_in_a_workspace(project: Path, tmp_path: Path) -> None:
    here = limits_of(Settings(home=tmp_path, project=project))
    assert here.file_bytes > 50 * limits_of(Settings(home=tmp_path)).file_bytes
