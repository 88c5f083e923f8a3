"""`execute_python` through a run: state, files, limits, cancelling, the books."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.audit.records import AuditFilter
from dataagent_core.config import Settings
from dataagent_core.engine import AgentConfig
from dataagent_core.errors import FileNotFound
from dataagent_core.events import AnyEvent, ArtifactEvent, DoneEvent, ToolResultEvent
from dataagent_core.runs import RunOptions
from dataagent_core.runs.agents import agent_config
from dataagent_core.runs.types import Run
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
]


@dataclass
class Talk:
    """One user's conversation."""

    core: Core
    session_id: str
    owner: str

    async def start(self, message: str, *, auto_approve: bool | None = None) -> Run:
        options = RunOptions(auto_approve=auto_approve)
        started = await self.core.runs.start(
            self.session_id, message, owner=self.owner, options=options
        )
        return started.run

    async def events(self, run: Run) -> list[AnyEvent]:
        async with asyncio.timeout(WAIT_SECONDS):
            return [entry.event async for entry in self.core.runs.read(run.run_id)]

    async def call(
        self, tool: str, **arguments: Any
    ) -> tuple[ToolResultEvent, list[ArtifactEvent]]:
        """Have the model call a tool; its result and the artefacts it announced."""
        run = await self.start(f"!tool {tool} {json.dumps(arguments)}")
        events = await self.events(run)
        [result] = [event for event in events if isinstance(event, ToolResultEvent)]
        return result, [event for event in events if isinstance(event, ArtifactEvent)]

    async def python(self, code: str, **more: Any) -> str:
        result, _ = await self.call("execute_python", code=code, **more)
        return str(result.result)

    async def change(self, tool: str, **arguments: Any) -> None:
        """Have the model call a file tool, with approval."""
        run = await self.start(f"!tool {tool} {json.dumps(arguments)}", auto_approve=True)
        [result] = [e for e in await self.events(run) if isinstance(e, ToolResultEvent)]
        assert result.status == "success", result

    async def content(self, artifact: ArtifactEvent) -> bytes:
        _, read = await self.core.files.store.open(
            artifact.artifact_id, owner=self.owner, filename=artifact.title
        )
        return b"".join(read())


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def core(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Core]:
    settings = Settings(
        home=tmp_path_factory.mktemp("python-home"),
        model="scripted",
        sample_data=False,
        sandbox="bwrap",
        sandbox_pool_size=0,
        workspace_quota=1_000_000,
    )
    async with open_core(settings, grace_seconds=2) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def talk(core: Core, request: pytest.FixtureRequest) -> Talk:
    owner = f"u{abs(hash(request.node.name)) % 10**9}"
    session = await core.sessions.create(owner, "agent")
    return Talk(core, session.session_id, owner)


@requirement("S2.4.1e")
async def test_variables_live_on_and_the_last_value_is_shown(talk: Talk) -> None:
    assert "stdout:\nhello\n42" in await talk.python("x = 41\nprint('hello')\nx + 1")
    assert "stdout:\n43" in await talk.python("x + 2")
    assert "variables: x" in await talk.python("y = None\ndel y")
    assert "NameError" in await talk.python("x", reset=True)


async def test_an_agent_with_a_sandbox_id_uses_that_sandbox(
    core: Core, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await talk.python("x = 41")
    assert core.sandboxes is not None
    living = core.sandboxes.find_session(talk.owner, talk.session_id)
    assert living is not None
    other = Talk(core, (await core.sessions.create(talk.owner, "agent")).session_id, talk.owner)
    assert "NameError" in await other.python("x + 1")

    def config_for(run: Run) -> AgentConfig:
        return replace(agent_config(core.settings, run), sandbox_id=living.id)

    monkeypatch.setattr(core.worker, "_config_for", config_for)
    assert "stdout:\n42" in await other.python("x + 1")


@requirement("S2.4.1e")
async def test_an_error_and_a_limit_are_named_and_lose_nothing_else(talk: Talk) -> None:
    await talk.python("x = 1")
    failed, _ = await talk.call("execute_python", code="x = 2\n1 / 0")
    assert failed.status == "error"
    assert "ZeroDivisionError" in str(failed.result)
    late, _ = await talk.call("execute_python", code="while True: pass", timeout_seconds=0.5)
    assert late.status == "timeout"
    assert "time limit of 0.5 s" in str(late.result)
    assert "as they were before" in str(late.result)
    heavy, _ = await talk.call("execute_python", code="b = bytearray(10**10)")
    assert "memory limit of 512 MiB" in str(heavy.result)


@requirement("S2.4.1f", "S5.3")
async def test_what_code_makes_comes_back_as_files_of_the_user(talk: Talk) -> None:
    code = (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n"
        "open('/output/table.csv', 'w').write('a,b\\n1,2\\n')"
    )
    result, artifacts = await talk.call("execute_python", code=code)
    made = {each.title: each for each in artifacts}
    assert set(made) == {"table.csv", "figure_1.png"}
    assert await talk.content(made["table.csv"]) == b"a,b\n1,2\n"
    assert (await talk.content(made["figure_1.png"])).startswith(b"\x89PNG")
    table = made["table.csv"]
    assert (table.kind, table.url) == ("file", f"/api/files/{table.artifact_id}/table.csv")
    assert table.preview == {"size": 8, "content_type": "text/csv"}
    assert f"[table.csv]({table.url})" in str(result.result)
    with pytest.raises(FileNotFound):
        await talk.core.files.store.get(table.artifact_id, owner="somebody-else")
    _, again = await talk.call("execute_python", code="print(open('/output/table.csv').read())")
    assert again == []


@requirement("S2.4.1f")
async def test_the_wanted_file_is_linked_or_said_to_be_missing(talk: Talk) -> None:
    code = "open('/output/b.txt', 'w').write('b')\nopen('/output/a.txt', 'w').write('a')"
    result, artifacts = await talk.call("execute_python_with_file", code=code, filename="b.txt")
    assert [each.title for each in artifacts] == ["b.txt", "a.txt"]
    assert "wrote no file" not in str(result.result)
    result, _ = await talk.call("execute_python_with_file", code="1", filename="c.xlsx")
    assert "The code wrote no file 'c.xlsx'. Save it as /output/c.xlsx." in str(result.result)


@requirement("R33.6")
async def test_a_file_over_the_quota_is_not_kept_and_the_run_says_so(talk: Talk) -> None:
    code = "open('/output/large.bin', 'wb').write(bytes(2_000_000))\nprint('ran')"
    before = await talk.core.workspaces.usage(talk.owner)
    result, artifacts = await talk.call("execute_python", code=code)
    assert artifacts == []
    assert "large.bin: not kept." in str(result.result)
    assert "ran" in str(result.result)
    assert await talk.core.workspaces.usage(talk.owner) == before


@requirement("S2.4.1e")
async def test_long_output_is_cut_for_the_model_and_kept_as_a_file(talk: Talk) -> None:
    result, artifacts = await talk.call("execute_python", code="print('x' * 200_000)")
    assert len(str(result.result)) < 60_000
    assert "bytes cut" in str(result.result)
    assert [each.title for each in artifacts] == ["output.txt"]
    assert len(await talk.content(artifacts[0])) == 200_001


@requirement("R32.4")
async def test_uploads_are_seen_and_the_real_files_do_not_change(talk: Talk) -> None:
    async def content() -> AsyncGenerator[bytes]:
        yield b"name,n\nanna,1\n"

    stored = await talk.core.files.store.add_upload(talk.owner, "people.csv", content())
    place = f"/workspace{stored.path}"
    code = (
        f"import pandas\nprint(pandas.read_csv('{place}').n.sum())\nopen('{place}', 'w').write('x')"
    )
    assert "stdout:\n1" in await talk.python(code)
    workspace = talk.core.workspaces.get_user_workspace(talk.owner)
    assert (workspace / stored.path.lstrip("/")).read_bytes() == b"name,n\nanna,1\n"


@requirement("R4.6")
async def test_commands_and_code_act_in_the_same_place(talk: Talk) -> None:
    await talk.python("open('/output/made.txt', 'w').write('by python')")
    result, _ = await talk.call("execute", command="cat /output/made.txt; echo more > /output/b")
    assert "by python" in str(result.result)
    assert "stdout:\nmore" in await talk.python("print(open('/output/b').read())")


@requirement("R33.3")
async def test_what_file_tools_write_is_what_code_reads_next(talk: Talk) -> None:
    await talk.change("write_file", file_path="/files/rates.csv", content="rate\n19\n")
    read = "open('/workspace/files/rates.csv').read()"
    assert "19" in await talk.python(read)
    await talk.change("edit_file", file_path="/files/rates.csv", old_string="19", new_string="21")
    assert "21" in await talk.python(read)
    missing = "open('/workspace/files/notes.txt').read()"
    assert "FileNotFoundError" in await talk.python(missing)
    await talk.change("write_file", file_path="/files/notes.txt", content="here now")
    assert "here now" in await talk.python(missing)


@requirement("G6")
async def test_cancelling_the_run_ends_the_code_at_once(talk: Talk) -> None:
    await talk.python("kept = 41")
    code = "import ctypes\nctypes.CDLL(None).prctl(15, b'cancel-me-7', 0, 0, 0)\nwhile True: pass"
    run = await talk.start(f"!tool execute_python {json.dumps({'code': code})}")
    async with asyncio.timeout(WAIT_SECONDS):
        while not named("cancel-me-7"):
            await asyncio.sleep(0.01)
    await talk.core.runs.cancel(run.run_id, owner=talk.owner)
    events = await talk.events(run)
    assert isinstance(events[-1], DoneEvent)
    assert events[-1].cancelled
    assert not named("cancel-me-7")
    assert "stdout:\n42" in await talk.python("kept + 1")


def named(name: str) -> list[Path]:
    """The living processes of that name."""
    found: list[Path] = []
    for folder in Path("/proc").iterdir():
        try:
            text = (folder / "stat").read_text() if folder.name.isdigit() else ""
        except OSError:
            continue
        if f"({name})" in text and text.rpartition(")")[2].split()[0] not in "ZX":
            found.append(folder)
    return found


async def test_each_run_has_an_audit_row_and_is_counted(talk: Talk) -> None:
    await talk.python("secret_code_word = 1")
    await talk.core.observers.audit.flush()
    rows, _ = await talk.core.observers.audit.list(AuditFilter(user_id=talk.owner), limit=10)
    [row] = [each.record for each in rows if each.record.action == "python.run"]
    details = json.loads(row.details)
    assert (row.outcome, details["status"], details["wall"]) == ("success", "ok", "bwrap")
    assert details["code_bytes"] == len("secret_code_word = 1")
    assert len(details["code_sha256"]) == 64
    assert details["limits"]["memory_bytes"] == 512 * 1024 * 1024
    assert details["max_rss_bytes"] > 0
    assert "secret_code_word" not in row.details
    text = talk.core.observers.metrics.text().decode()
    assert 'dataagent_sandbox_run_seconds_count{status="ok"}' in text
    assert "dataagent_sandbox_wait_seconds_count" in text
    assert "dataagent_sandboxes_bound" in text


@requirement("R13.4", "S2.4.1a")
async def test_a_deleted_conversation_takes_its_sandbox_along(talk: Talk) -> None:
    await talk.python("1")
    sandboxes = talk.core.sandboxes
    assert sandboxes is not None
    bound = sandboxes.bound
    await talk.core.runs.delete_permanently(talk.session_id, owner=talk.owner)
    assert sandboxes.bound == bound - 1


@requirement("R13.4", "S2.4.1a")
@pytest.mark.parametrize("end", ["put away", "not used for long"])
async def test_a_conversation_that_rests_holds_no_sandbox(talk: Talk, end: str) -> None:
    await talk.python("word = 'gone'")
    sandboxes = talk.core.sandboxes
    assert sandboxes is not None
    before = killed(talk, "released")
    if end == "put away":
        await talk.core.runs.soft_delete(talk.session_id, owner=talk.owner)
    else:
        assert await talk.core.sessions.release_expired(timeout_seconds=0) > 0
    async with asyncio.timeout(WAIT_SECONDS):
        while sandboxes.find_session(talk.owner, talk.session_id) is not None:
            await asyncio.sleep(0.01)
    assert killed(talk, "released") > before
    if end == "put away":
        await talk.core.sessions.restore(talk.session_id, owner=talk.owner)
    told = await talk.python("word")
    assert "NameError" in told
    assert "The sandbox of earlier calls is gone" in told


@requirement("R13.4")
async def test_putting_a_conversation_away_ends_the_code_in_it(talk: Talk) -> None:
    code = "import ctypes\nctypes.CDLL(None).prctl(15, b'put-away-7', 0, 0, 0)\nwhile True: pass"
    await talk.start(f"!tool execute_python {json.dumps({'code': code})}")
    async with asyncio.timeout(WAIT_SECONDS):
        while not named("put-away-7"):
            await asyncio.sleep(0.01)
        await talk.core.runs.soft_delete(talk.session_id, owner=talk.owner)
        while named("put-away-7"):
            await asyncio.sleep(0.01)
    sandboxes = talk.core.sandboxes
    assert sandboxes is not None
    async with asyncio.timeout(WAIT_SECONDS):
        while sandboxes.find_session(talk.owner, talk.session_id) is not None:
            await asyncio.sleep(0.01)


def killed(talk: Talk, cause: str) -> float:
    """How often code or a sandbox was ended for a reason, as the metrics say."""
    for line in talk.core.observers.metrics.text().decode().splitlines():
        if line.startswith(f'dataagent_sandbox_kills_total{{cause="{cause}"}}'):
            return float(line.rpartition(" ")[2])
    return 0.0


async def test_what_was_ended_from_outside_is_counted_by_cause(talk: Talk) -> None:
    before = {cause: killed(talk, cause) for cause in ("timeout", "cancelled")}
    await talk.python("while True: pass", timeout_seconds=0.5)
    run = await talk.start(f"!tool execute {json.dumps({'command': 'sleep 600'})}")
    sandboxes = talk.core.sandboxes
    assert sandboxes is not None
    async with asyncio.timeout(WAIT_SECONDS):
        while not (
            (session := sandboxes.find_session(talk.owner, talk.session_id)) and session.is_busy
        ):
            await asyncio.sleep(0.01)
    await talk.core.runs.cancel(run.run_id, owner=talk.owner)
    assert killed(talk, "timeout") == before["timeout"] + 1
    assert killed(talk, "cancelled") == before["cancelled"] + 1


@pytest.mark.slow
@requirement("S2.4.1e")
async def test_the_offline_model_runs_a_python_block_it_is_sent(tmp_path: Path) -> None:
    given: dict[str, Any] = {"home": tmp_path, "model": "offline", "sample_data": False}
    async with open_core(Settings(**given, sandbox="auto", sandbox_pool_size=0)) as core:
        session = await core.sessions.create("anna", "agent")
        talk = Talk(core, session.session_id, "anna")
        events = await talk.events(await talk.start("please\n```python\nprint(6 * 7)\n```"))
        [result] = [event for event in events if isinstance(event, ToolResultEvent)]
        assert "stdout:\n42" in str(result.result)
    async with open_core(Settings(**given, sandbox="off")) as core:
        assert core.sandboxes is None
        session = await core.sessions.create("anna", "agent")
        talk = Talk(core, session.session_id, "anna")
        events = await talk.events(await talk.start("```python\nprint(6 * 7)\n```"))
        assert not [event for event in events if isinstance(event, ToolResultEvent)]
        assert "no tool `execute_python`" in str(events)
