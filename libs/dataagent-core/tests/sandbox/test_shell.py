"""A shell that goes on from command to command, and that nothing a command does can break."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

from dataagent_core.sandbox import CommandResult, LocalRunner
from dataagent_core.sandbox.local import LocalShells, process_folder
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS


class Terminal:
    """One conversation's shell."""

    def __init__(self, shells: LocalShells, directory: Path) -> None:
        self.shells = shells
        self.directory = directory

    async def result(
        self, command: str, *, seconds: float = 20, user: str = "u", session: str = "s"
    ) -> CommandResult:
        return await self.shells.run(
            user, session, command, directory=self.directory, timeout_seconds=seconds
        )

    async def __call__(self, command: str, **options: str) -> str:
        # user and session
        return (await self.result(command, **options)).output  # pyright: ignore[reportArgumentType]


@pytest.fixture
def shell(tmp_path: Path) -> Generator[Terminal]:
    shells = LocalShells(LocalRunner())
    (tmp_path / "work").mkdir()
    yield Terminal(shells, tmp_path / "work")
    shells.close()


@requirement("R7.4")
async def test_directory_variables_functions_aliases_and_options_stay(shell: Terminal) -> None:
    assert await shell("mkdir sub; cd sub") == ""
    assert (
        await shell("export A='x y'; B=$'two\nlines'; list=(1 '2 3'); declare -A map=([k]=v)") == ""
    )
    assert (
        await shell("greet() { echo \"hello $1\"; }; alias hi='echo alias'; shopt -s nullglob")
        == ""
    )
    assert await shell("umask 027; set -o pipefail; readonly FIXED=7") == ""
    assert await shell("pwd") == f"{shell.directory}/sub\n"
    assert await shell('env | grep ^A=; echo "$B"; echo "${list[1]} ${map[k]} $FIXED"') == (
        "A=x y\ntwo\nlines\n2 3 v 7\n"
    )
    assert await shell("greet you; umask; false | true; echo $?; echo *.none") == (
        "hello you\n0027\n1\n\n"
    )
    assert await shell("hi there") == "alias there\n"


@requirement("R7.4")
async def test_users_and_conversations_have_shells_of_their_own(shell: Terminal) -> None:
    await shell("SECRET=1", user="ann", session="one")
    assert await shell("echo [$SECRET]", user="ann", session="one") == "[1]\n"
    assert await shell("echo [$SECRET]", user="ann", session="two") == "[]\n"
    assert await shell("echo [$SECRET]", user="bob", session="one") == "[]\n"
    assert await shell("echo [$SECRET]", user="annone", session="") == "[]\n"


@requirement("R7.4")
@pytest.mark.parametrize("forever", ["sleep 600", "while :; do :; done", "cat <(sleep 600)"])
async def test_a_command_over_its_time_ends_and_the_shell_goes_on(
    shell: Terminal, forever: str
) -> None:
    await shell("mkdir sub; cd sub; KEPT=yes")
    late = await shell.result(
        f"LOST=1; sleep 600 & echo $! > ../nap; echo so far; {forever}", seconds=1.0
    )
    assert (late.output, late.exit_code, late.timed_out) == ("so far\n", None, True)
    nap = int((shell.directory / "nap").read_text())
    assert not psutil.pid_exists(nap) or psutil.Process(nap).status() == psutil.STATUS_ZOMBIE
    assert await shell('echo "$KEPT [$LOST]"; basename "$PWD"') == "yes []\nsub\n"


@requirement("R7.4")
async def test_whatever_ends_a_command_does_not_end_the_shell(shell: Terminal) -> None:
    await shell("KEPT=yes")
    for command, code in (
        ("AFTER=1; exit 3", 3),
        ("set -e; false; echo never", 1),
        ("set -u; echo $NOT_THERE", 127),
        ("kill -9 $$", -9),
        ("exec true", 0),
        ("exec >&-; echo lost", 1),
        ("echo 'open", 2),
        ("if", 2),
        ("set -n", 0),
    ):
        assert (await shell.result(command)).exit_code == code, command
        assert await shell("set +u; echo $KEPT") == "yes\n", command
    assert await shell("echo $AFTER") == "1\n"


@requirement("R7.4")
async def test_errors_name_the_lines_of_the_command_itself(shell: Terminal) -> None:
    said = await shell("echo fine\nnot-a-program-at-all\n")
    assert said.startswith("fine\n")
    assert "line 2: not-a-program-at-all" in said
    assert "__da" not in said


async def test_a_trap_of_the_command_runs_at_its_end(shell: Terminal) -> None:
    assert await shell("trap 'echo bye' EXIT; X=1; echo work") == "work\nbye\n"
    assert await shell("echo $X") == "1\n"


async def test_a_directory_that_is_gone_is_said_to_be(shell: Terminal) -> None:
    await shell("mkdir gone; cd gone")
    (shell.directory / "gone").rmdir()
    assert await shell("pwd") == (
        f"[the directory of the last command is gone]\n{shell.directory}\n"
    )


async def test_a_state_that_is_too_large_is_dropped_with_a_note(shell: Terminal) -> None:
    await shell("KEPT=yes")
    said = await shell("BIG=$(head -c 2000000 /dev/zero | tr '\\0' x); KEPT=no")
    assert "too large to be kept" in said
    assert await shell("echo $KEPT ${#BIG}") == "yes 0\n"


@requirement("R7.4")
async def test_long_output_is_cut(tmp_path: Path) -> None:
    shells = LocalShells(LocalRunner(output_limit=1000))
    result = await shells.run(
        "u", "s", "yes | head -c 300000; X=1", directory=tmp_path, timeout_seconds=20
    )
    assert result.is_cut
    assert len(result.output) < 1100
    shells.close()


@requirement("G6")
async def test_a_cancelled_command_is_gone_and_the_shell_is_free(shell: Terminal) -> None:
    await shell("KEPT=yes")
    pid = shell.directory / "pid"
    running = asyncio.create_task(shell("echo $$ > pid; sleep 600"))
    async with asyncio.timeout(WAIT_SECONDS):
        while not (pid.exists() and pid.read_text().strip()):
            await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not psutil.pid_exists(int(pid.read_text()))
    assert await shell("echo $KEPT") == "yes\n"


async def test_commands_of_one_conversation_run_one_after_another(shell: Terminal) -> None:
    await shell("N=0")
    await asyncio.gather(*(shell("n=$N; sleep 0.05; N=$((n + 1))") for _ in range(4)))
    assert await shell("echo $N") == "4\n"


async def test_a_shells_state_is_private_and_deleted_with_it(tmp_path: Path) -> None:
    shells = LocalShells(LocalRunner())
    await shells.run("u", "s", "umask 0; TOKEN=t0p", directory=tmp_path, timeout_seconds=20)
    [folder] = {shells._place()}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert any("t0p" in each.read_text() for each in folder.iterdir())
    assert list(tmp_path.iterdir()) == []
    shells.close()
    assert not folder.exists()


async def test_any_value_comes_back_as_it_was(shell: Terminal) -> None:
    values = ["", " ", "'", '"', "\\", "\n", "\r\n", "\t", "$X", "`id`", "$(id)", "!!", "*", "~"]
    values += [
        "é中😀",
        "\x01\x1b[31m",
        "a'b\"c\\d",
        "'\\''",
        "-n",
        "$'x'",
        "%s",
        "\n\n",
        ";",
        "&",
        "#",
    ]
    for number, value in enumerate(values):
        (shell.directory / f"{number:02}").write_bytes(value.encode())
    await shell('V=(); for f in [0-9]*; do v=$(cat $f; echo .); V+=("${v%.}"); done')
    await shell('for i in ${!V[@]}; do printf %s "${V[i]}" > back$i; done')
    back = [(shell.directory / f"back{n}").read_bytes().decode() for n in range(len(values))]
    assert back == values


async def test_folders_of_killed_processes_go_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ended = await asyncio.create_subprocess_exec("true")
    await ended.wait()
    dead, alive = tmp_path / f"x-{ended.pid}-a", tmp_path / "x-1-b"
    for folder in (dead, alive):
        folder.mkdir()
        (folder / "secret").write_text("s")
    made = process_folder("x-")
    assert not dead.exists()
    assert alive.exists()
    assert made.stat().st_mode & 0o777 == 0o700
