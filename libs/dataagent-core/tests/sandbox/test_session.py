"""One sandbox through its public door: state, ends of all kinds, cancellation, file tools."""

from __future__ import annotations

import asyncio
import threading

import psutil
import pytest

from dataagent_core.errors import SandboxGone
from dataagent_core.sandbox import SandboxSession
from tests.requirements import requirement
from tests.waiting import until

from .keeping import MakeSandboxes, living, paths, process_of, ran

pytestmark = pytest.mark.asyncio(loop_scope="session")

SPIN = "while True: pass"
CRASH = "import ctypes; ctypes.string_at(0)"
SWALLOW = "held = []\nwhile True: held.append(bytearray(16 << 20))"


@requirement("S2.4.1e")
async def test_variables_stay_and_the_last_expression_is_echoed(session: SandboxSession) -> None:
    first = await session.run_python("x = 20\nprint('said')\nx + 1")
    assert (first.status, first.stdout, first.exit_code) == ("ok", "said\n21\n", 0)
    assert first.names == ("x",)
    assert await ran(session, "x * 2") == "40\n"


@pytest.mark.slow
@requirement("S2.4.1e")
@pytest.mark.parametrize(
    ("code", "status", "seconds"),
    [(SPIN, "timeout", 1.5), (CRASH, "killed", 30), (SWALLOW, "memory", 30)],
)
async def test_a_cell_that_ends_badly_loses_nothing_but_itself(
    session: SandboxSession, code: str, status: str, seconds: float
) -> None:
    await ran(
        session,
        "import duckdb; db = duckdb.connect(); x = 7\n"
        "_ = db.execute('create table t as select range i from range(10)')",
    )
    result = await session.run_python(f"x = 'spoilt'\n{code}", timeout_seconds=seconds)
    assert (result.status, result.state_lost) == (status, False), result
    assert await ran(session, "x, db.execute('select sum(i) from t').fetchone()") == "(7, (45,))\n"


@requirement("S2.4.1e")
async def test_a_database_file_can_be_written_on_after_a_cell_was_rolled_back(
    session: SandboxSession,
) -> None:
    await ran(session, "import duckdb; db = duckdb.connect('/tmp/a.db')")
    await ran(session, "db.execute('create table t(i int)')")
    spoilt = "db.execute('insert into t values (1)')\nwhile True: pass"
    assert (await session.run_python(spoilt, timeout_seconds=1)).status == "timeout"
    await ran(session, "db.execute('insert into t values (2)')")
    assert "(2,)" in await ran(session, "db.execute('from t').fetchall()")


@pytest.mark.slow
@requirement("S2.4.1e")
async def test_state_survives_a_hundred_generations(session: SandboxSession) -> None:
    await ran(session, "n = 0")
    for _ in range(100):
        await ran(session, "n += 1")
    assert await ran(session, "n") == "100\n"
    await until(lambda: len(living(process_of(session).pid)) == 2)


@requirement("S2.4.1e")
async def test_reset_discards_the_state(session: SandboxSession) -> None:
    await ran(session, "x = 1")
    result = await session.run_python("x", reset=True)
    assert result.status == "error"
    assert "NameError: name 'x' is not defined" in result.stderr


@requirement("S2.4.1e")
async def test_a_traceback_begins_in_the_cell_and_shows_its_line(session: SandboxSession) -> None:
    result = await session.run_python("def f():\n    return 1 / 0\nf()")
    assert (result.status, result.exit_code) == ("error", 1)
    assert result.stderr.splitlines()[1].startswith('  File "<cell ')
    assert "return 1 / 0" in result.stderr
    assert "runner" not in result.stderr


@requirement("S2.4.1e")
async def test_what_was_printed_before_the_time_ran_out_is_shown(session: SandboxSession) -> None:
    result = await session.run_python(f"print('so far')\n{SPIN}", timeout_seconds=0.5)
    assert (result.status, result.stdout) == ("timeout", "so far\n")
    assert result.wall_seconds < 0.5 + 2


@requirement("S2.4.1e")
async def test_open_figures_come_back_as_pictures(session: SandboxSession) -> None:
    result = await session.run_python(
        "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.title('销售额')"
    )
    assert (result.status, paths(result), result.stderr) == ("ok", ["output/figure_1.png"], "")
    assert result.files[0].content.startswith(b"\x89PNG")


@requirement("S2.4.1e")
async def test_only_files_of_this_run_come_back(session: SandboxSession) -> None:
    first = await session.run_python("open('/output/a.txt', 'w').write('a')")
    second = await session.run_python("open('/workspace/b.txt', 'w').write('b')")
    third = await session.run_python("open('/output/a.txt', 'a').write('!')")
    assert [paths(result) for result in (first, second, third)] == [
        ["output/a.txt"],
        ["b.txt"],
        ["output/a.txt"],
    ]
    assert third.files[0].content == b"a!"


@requirement("S2.4.1e")
async def test_what_a_cell_leaves_running_is_ended_with_it(session: SandboxSession) -> None:
    await ran(
        session,
        "import os, signal, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    [signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(600)\n",
    )
    await until(lambda: len(living(process_of(session).pid)) == 2)
    assert await ran(session, "[int(p) for p in os.listdir('/proc') if p.isdigit()][0]") == "1\n"


@requirement("S2.4.1e")
async def test_a_fork_that_runs_to_the_cells_end_does_not_answer_for_it(
    session: SandboxSession,
) -> None:
    result = await session.run_python("import os\nwho = 'parent' if os.fork() else 'child'")
    assert result.status == "ok"
    assert await ran(session, "who") == "'parent'\n"


@requirement("S2.4.1e")
async def test_code_that_floods_or_forges_reports_changes_nothing_but_its_own_state(
    session: SandboxSession,
) -> None:
    flood = """
import os, socket, struct, json
def report(**fields):
    said = json.dumps(fields).encode()
    return struct.pack('>I', len(said)) + said
own = [int(n) for n in os.listdir('/proc/self/fd') if int(n) > 2]
for number in own:
    try: channel = socket.socket(fileno=os.dup(number))
    except OSError: continue
    for cell in range(3):
        channel.sendall(report(cell=cell, event='done', status='ok', names=['forged'] * 9,
                               wall=-1, cpu=-1, files=[['/etc/passwd', 9]]))
    while True: channel.sendall(report(cell=99, event='x') * 50)
"""
    result = await session.run_python(flood, timeout_seconds=2)
    assert result.files == ()
    assert result.wall_seconds < 2 + 1
    assert result.cpu_seconds >= 0
    assert await ran(session, "6 * 7") == "42\n"


@pytest.mark.slow
@requirement("S2.4.1e")
async def test_a_cell_that_says_it_is_done_and_goes_on_stands_still(
    session: SandboxSession,
) -> None:
    pretend = """
import os, socket, struct, json
said = json.dumps({'cell': 1, 'event': 'done', 'status': 'ok'}).encode()
for number in [int(n) for n in os.listdir('/proc/self/fd') if int(n) > 2]:
    try: socket.socket(fileno=os.dup(number)).sendall(struct.pack('>I', len(said)) + said)
    except OSError: continue
while True: pass
"""
    assert (await session.run_python(pretend, timeout_seconds=5)).status == "ok"
    await until(lambda: len(living(process_of(session).pid)) == 2)
    kernel = psutil.Process(living(process_of(session).pid)[1])
    await until(lambda: kernel.status() == psutil.STATUS_STOPPED)
    after = await session.run_python("6 * 7", timeout_seconds=20)
    assert (after.status, after.stdout, after.state_lost) == ("ok", "42\n", True)


@requirement("S2.4.1e")
async def test_code_that_ends_the_state_it_came_from_loses_only_its_own(
    session: SandboxSession,
) -> None:
    await ran(session, "import os, signal; x = 1")
    await ran(session, "os.kill(os.getppid(), signal.SIGKILL); x = 2")
    assert await ran(session, "x") == "2\n"
    lost = await session.run_python("os.kill(os.getppid(), 9); os.kill(os.getpid(), 9)")
    assert (lost.status, lost.state_lost) == ("killed", True)
    assert await ran(session, "6 * 7") == "42\n"


@requirement("G6")
async def test_cancelling_ends_the_cell_and_leaves_the_sandbox_usable(
    session: SandboxSession,
) -> None:
    await ran(session, "x = 5")
    await until(lambda: len(living(process_of(session).pid)) == 2)
    running = asyncio.create_task(session.run_python(SPIN, timeout_seconds=60))
    await until(lambda: len(living(process_of(session).pid)) == 3)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await ran(session, "x") == "5\n"


@requirement("G6")
async def test_cancelling_a_waiting_caller_does_not_end_the_run(session: SandboxSession) -> None:
    running = asyncio.create_task(session.run_python(SPIN))
    await until(lambda: len(living(process_of(session).pid)) == 3)
    waiting = asyncio.create_task(session.run_python("1"))
    await until(lambda: session._channel._users == 2)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not running.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@requirement("G6")
async def test_a_cancelled_command_takes_its_children_with_it(session: SandboxSession) -> None:
    running = asyncio.create_task(session.run_command("sleep 600 & sleep 600"))
    await until(lambda: len(living(process_of(session).pid)) >= 4)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await session.aexecute("echo still here")).output == "still here\n"
    await until(lambda: len(living(process_of(session).pid)) == 1)


@requirement("S2.4.1e")
async def test_a_sandbox_that_was_killed_says_so_and_its_successor_that_it_forgot(
    make_sandboxes: MakeSandboxes,
) -> None:
    sandboxes = make_sandboxes()
    session = await sandboxes.session("ann", "t1")
    await ran(session, "x = 1")
    await process_of(session).kill()
    with pytest.raises(SandboxGone):
        await session.run_python("x")
    successor = await sandboxes.session("ann", "t1")
    assert successor.id != session.id
    assert (await successor.run_python("1")).state_lost
    assert not (await successor.run_python("1")).state_lost


@requirement("S2.4.1e")
async def test_commands_and_file_tools_act_where_python_does(session: SandboxSession) -> None:
    assert (await session.awrite("/workspace/notes/a.txt", "one\ntwo\n")).error is None
    assert await ran(session, "open('notes/a.txt').read()") == "'one\\ntwo\\n'\n"
    assert (await session.aedit("/workspace/notes/a.txt", "two", "2")).error is None
    assert (await session.aexecute("cat notes/a.txt; exit 3")).output == "one\n2\n"
    read = await session.aread("/workspace/notes/a.txt")
    assert read.file_data is not None
    assert read.file_data["content"].strip() == "one\n2"
    found = await session.agrep("2", "/workspace")
    assert [match["path"] for match in found.matches or []] == ["/workspace/notes/a.txt"]
    globbed = await session.aglob("**/*.txt", "/workspace")
    assert [entry["path"] for entry in globbed.matches or []] == ["/workspace/notes/a.txt"]
    listed = await session.als("/workspace/notes")
    assert [entry["path"] for entry in listed.entries or []] == ["/workspace/notes/a.txt"]


@requirement("S2.4.1e")
async def test_a_command_may_end_with_any_exit_code(session: SandboxSession) -> None:
    codes = [(await session.aexecute(f"exit {code}")).exit_code for code in (0, 1, 91, 127)]
    assert codes == [0, 1, 91, 127]
    assert (await session.aexecute("nonsense")).exit_code == 127


@requirement("S2.4.1e")
async def test_a_large_edit_goes_through_uploaded_files(session: SandboxSession) -> None:
    await session.awrite("/workspace/big.txt", "a" * 300_000)
    edited = await session.aedit("/workspace/big.txt", "a" * 300_000, "b" * 300_000)
    assert edited.error is None
    assert await ran(session, "open('big.txt').read() == 'b' * 300_000") == "True\n"


@requirement("S2.4.1e")
async def test_files_go_in_and_out_as_bytes(session: SandboxSession) -> None:
    content = bytes(range(256)) * 40_000
    [sent] = await session.aupload_files([("data/x.bin", content)])
    assert sent.error is None
    here, missing, folder = await session.adownload_files(
        ["/workspace/data/x.bin", "nothing", "data"]
    )
    assert here.content == content
    assert (missing.content, missing.error) == (None, "file_not_found")
    assert folder.content is None
    outside = await session.aupload_files([("../../etc/x", b""), ("/etc/x", b"")])
    assert all(answer.error for answer in outside)


@requirement("S2.4.1e")
async def test_blocking_twins_work_from_another_thread(session: SandboxSession) -> None:
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(session.execute("echo hi").output))
    thread.start()
    await asyncio.to_thread(thread.join)
    assert said == ["hi\n"]
    with pytest.raises(RuntimeError, match="async twin"):
        session.execute("echo hi")


@requirement("S2.4.1e")
async def test_output_is_cut_in_the_middle_and_says_so(session: SandboxSession) -> None:
    result = await session.run_python("print('a' * 3_000_000); print('end')")
    assert result.is_cut
    assert result.stdout.startswith("aaa")
    assert result.stdout.endswith("end\n")
    assert len(result.stdout) < 1_100_000


@requirement("S2.4.1d")
async def test_packages_of_the_specification_can_be_imported(session: SandboxSession) -> None:
    names = "pptx, docx, openpyxl, pandas, numpy, PIL, matplotlib, pypdf, pdfplumber, reportlab"
    assert await ran(session, f"import {names}; 'all there'") == "'all there'\n"


@requirement("S2.4.1e")
async def test_two_sandboxes_do_not_share_random_numbers(make_sandboxes: MakeSandboxes) -> None:
    sandboxes = make_sandboxes()
    code = "import random, numpy; random.random(), numpy.random.rand()"
    first = await ran(await sandboxes.session("ann", "t1"), code)
    second = await ran(await sandboxes.session("bob", "t1"), code)
    assert first != second
