"""The skills we ship: usable, naming tools that exist, with statements and programs that run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from dataagent_core.agents.packages import shipped_packages
from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.events import ToolResultEvent
from dataagent_core.skills import SkillEntry, SkillFolder, SkillLibrary, shipped_skills
from dataagent_core.workspace import UserWorkspaceManager
from tests.requirements import requirement

OURS = {
    *("data-profiling", "sql-review", "cohort-analysis", "chart-design", "spreadsheet-report"),
    *("pdf", "web-scraping"),
}
PACKAGES = {
    "content-writer": {"blog-post", "social-media"},
    "data-analyst": {"anomaly-investigation", "experiment-readout", "metric-definition"},
}
ELSEWHERE = {  # of other rooms, or only there with a key
    *("execute_python", "execute_python_with_file", "read_uploaded_file"),
    *("web_search", "tavily_search"),
}


def folders() -> list[SkillFolder]:
    mine = [SkillFolder("package", shipped_packages() / name / "skills") for name in PACKAGES]
    return [SkillFolder("shipped", shipped_skills()), *mine]


async def entries(manager: UserWorkspaceManager) -> list[SkillEntry]:
    skill_set = await SkillLibrary(folders(), manager).skill_set("ann")
    assert skill_set.problems == ()
    return list(skill_set)


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """Skill and text of each fenced block of a language."""
    for folder in folders():
        for file in sorted(folder.directory.glob("*/SKILL.md")):
            for block in re.findall(rf"^```{language}\n(.*?)^```", file.read_text(), re.M | re.S):
                yield file.parent.name, block


@pytest.fixture
async def core(tmp_path: Path) -> AsyncGenerator[Core]:
    settings = Settings(home=tmp_path / "home", model="scripted")
    async with open_core(settings) as opened:
        yield opened


@requirement("S2.3b")
async def test_all_of_them_can_be_used(manager: UserWorkspaceManager) -> None:
    found = await entries(manager)
    assert {entry.name for entry in found} == OURS.union(*PACKAGES.values())
    for name, skills in PACKAGES.items():
        assert {
            path.parent.name for path in (shipped_packages() / name).rglob("SKILL.md")
        } == skills


async def test_the_tools_they_name_exist(core: Core) -> None:
    known = {tool.name for tool in core.factory.bindable_tools()} | ELSEWHERE
    skill_set = await SkillLibrary(folders(), core.workspaces).skill_set("ann")
    for entry in skill_set:
        assert entry.tools, entry.name
        assert set(entry.tools) <= known, entry.name
    for name in PACKAGES:
        spec = core.agents.registry.find(name)
        assert spec is not None
        assert (spec.tools or frozenset()) - known == frozenset()


async def test_their_statements_run_on_the_sample_database(core: Core) -> None:
    statements = list(blocks("sql"))
    assert {name for name, _ in statements} >= {"data-profiling", "sql-review", "cohort-analysis"}
    for name, sql in statements:
        session = await core.sessions.create("ann", "agent")
        call = f"!tool sql_db_query {json.dumps({'query': sql})}"
        result = await result_of(core, session.session_id, call)
        assert result.status == "success", (name, result.result)


async def test_their_charts_are_drawn(core: Core) -> None:
    columns = "'x' AS country, 1.5 AS revenue, 'g' AS genre, '2024-01-01' AS month"
    row = await core.sessions.create("ann", "agent")
    table = json.dumps({"query": f"SELECT {columns}"})
    made = await result_of(core, row.session_id, f"!tool sql_db_query {table}")
    artifact_id = json.loads(made.result)["artifact_id"]
    specs = [json.loads(block) for name, block in blocks("json") if name == "chart-design"]
    assert len(specs) == 2
    for spec in specs:
        call = json.dumps({"artifact_id": artifact_id, "spec": spec})
        drawn = await result_of(core, row.session_id, f"!tool make_chart {call}")
        assert drawn.status == "success", drawn.result


async def result_of(core: Core, session_id: str, message: str) -> ToolResultEvent:
    started = await core.runs.start(session_id, message, owner="ann")
    events = [entry.event async for entry in core.runs.read(started.run.run_id)]
    return next(event for event in events if isinstance(event, ToolResultEvent))


def test_their_programs_run() -> None:
    programs = list(blocks("python"))
    assert programs
    for name, program in programs:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        assert done.returncode == 0, (name, done.stderr)
        assert b"95 % interval" in done.stdout


@pytest.mark.slow
def test_a_file_is_profiled_with_exact_counts(tmp_path: Path) -> None:
    rows = ["id,name,amount,day", "1,Ann,3.5,2024-01-01", "2,ann ,-1,2024-02-01"]
    rows += ["3,N/A,0,2024-03-05", "3,N/A,0,2024-03-05", "4,,7,2024-03-06"]
    (tmp_path / "data.csv").write_text("\n".join(rows))
    script = (shipped_skills() / "data-profiling/scripts/profile_table.py").read_text()
    said = _run(script.replace("uploads/data.csv", str(tmp_path / "data.csv")))
    assert "5 rows, 4 columns" in said
    assert "repeat another row entirely: 1 (20.0 %)" in said
    assert "missing: 1 (20.0 %); distinct: 3" in said
    assert "says it is missing: 2 (40.0 %); padded with spaces: 1 (20.0 %)" in said
    assert "3 values, 2 without case and spaces" in said
    assert "zero: 2 (40.0 %); negative: 1 (20.0 %)" in said
    assert "can be read as dates: 2024-01-01" in said


def test_a_report_has_numbers_formulas_and_no_live_text(tmp_path: Path) -> None:
    script = (shipped_skills() / "spreadsheet-report/scripts/make_report.py").read_text()
    script = script.replace('("Canada", 56, 303.96)', '("=1+1", 56, 303.96)')
    _run(script, REPORT_FOLDER=str(tmp_path))
    book = openpyxl.load_workbook(tmp_path / "report.xlsx")
    assert book.sheetnames == ["Summary", "By country", "Notes"]
    sheet = book["By country"]
    assert [cell.value for cell in sheet[2]] == ["USA", 91, 523.06]
    assert (sheet["A3"].value, sheet["A3"].data_type, sheet["A3"].quotePrefix) == (
        "=1+1",
        "s",
        True,
    )
    assert [cell.value for cell in sheet[5]] == ["Total", "=SUM(B2:B3)", "=SUM(C2:C3)"]
    summary: Any = book["Summary"]  # openpyxl has no types for what it draws
    assert len(summary._charts) == 1


def _run(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-"],
        input=script,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
