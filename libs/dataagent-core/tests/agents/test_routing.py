"""Which agent a message goes to when the message itself says so: the first three rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.agents.routing import Route, choose
from dataagent_core.agents.types import AgentSpec
from tests.requirements import requirement

AGENTS = [
    AgentSpec("research", "research", "Searches the web.", "builtin"),
    AgentSpec("sql", "sql", "Answers questions about data.", "builtin"),
    AgentSpec("content-writer", "content-writer", "Writes posts.", "package"),
    AgentSpec("a7c31f", "night_shift", "Made by an administrator.", "custom"),
    AgentSpec("general", "general", "Everything else.", "builtin"),
]
FILE = "3f0c8a52-0d5e-4a53-8a4e-2f0f3f1f9b11"
MODEL = None  # no rule applies: the supervisor's model decides


def where(message: str, file_ids: tuple[str, ...] = (), skill: str | None = None) -> str | None:
    """Rule and agent in short; `?` for an agent that there is not."""
    route = choose(message, file_ids=file_ids, skill=skill, agents=AGENTS)
    return None if route is None else f"{route.rule}:{route.agent or '?'}"


TEXTS: list[tuple[str, str | None]] = [
    # 1: an agent is named, anywhere in what the user says
    ("[ROUTE_TO: sql] How many customers?", "named:sql"),
    ("How many customers? [ROUTE_TO: sql]", "named:sql"),
    ("[ROUTE_TO:research] compare two vendors", "named:research"),
    ("[route_to: SQL] top ten", "named:sql"),
    ("[ROUTE_TO:   content-writer   ]\nwrite a post", "named:content-writer"),
    ("[ROUTE_TO: night_shift] hand over", "named:a7c31f"),
    ("[ROUTE_TO: a7c31f] by its id", "named:a7c31f"),
    ("[ROUTE_TO: general] plan my week", "named:general"),
    ("[ROUTE_TO: agent] the other name of general", "named:general"),
    ("请查一下 [ROUTE_TO: sql] 有多少客户", "named:sql"),
    ("[ROUTE_TO: sql] and then [ROUTE_TO: research]", "named:sql"),
    ("[ROUTE_TO: sql] [用户上传了以下文件] a.csv", "named:sql"),
    ("[SKILL: report] [ROUTE_TO: sql]", "named:sql"),
    ("[ROUTE_TO: nobody] hello", "named:?"),
    ("[ROUTE_TO: ] hello", "named:?"),
    ("[ROUTE_TO: supervisor] round and round", "named:?"),
    ("[ROUTE_TO: ../../etc] hello", "named:?"),
    # 2: files
    ("[用户上传了以下文件]\n- sales.xlsx\nSum it up", "files:general"),
    ("请分析\n[用户上传了以下文件] 销售.csv", "files:general"),
    # 3: a skill
    ("[SKILL: report] for March", "skill:general"),
    ("[SKILL:] whatever fits", "skill:general"),
    ("  [skill: report] with spaces before", "skill:general"),
    # 4 to 7: the model's
    ("hello", MODEL),
    ("What is 17 times 23?", MODEL),
    ("How many customers are there?", MODEL),
    ("route to sql please", MODEL),
    ("ROUTE_TO: sql", MODEL),
    ("[ROUTE TO: sql]", MODEL),
    ("[ROUTE_TO sql]", MODEL),
    ("[ROUTE_TO: sql", MODEL),
    ("what does [SKILL: report] do?", MODEL),
    ("用户上传了以下文件", MODEL),
    # what is quoted or pasted as code is not what the user says
    ("Why does this not work?\n```\n[ROUTE_TO: sql]\n```", MODEL),
    ("~~~text\n[用户上传了以下文件]\n~~~\nwhat is that?", MODEL),
    ("What does `[ROUTE_TO: sql]` mean?", MODEL),
    ("> [ROUTE_TO: sql]\nIs that from you?", MODEL),
    ("```\n[ROUTE_TO: sql]\nno end to this block", MODEL),
    ("````\n```\n[ROUTE_TO: sql]\n````", MODEL),
    ("```\nx\n```\n[ROUTE_TO: sql] explain the block", "named:sql"),
    ("`x` [ROUTE_TO: sql] `y`", "named:sql"),
]


@requirement("S2.2.1a", "S2.2.1b", "S2.2.1c")
def test_there_are_forty_messages_each_with_its_route() -> None:
    assert len(TEXTS) == 40
    assert [where(text) for text, _ in TEXTS] == [route for _, route in TEXTS]


@requirement("S2.2.1b", "S2.2.1c")
@pytest.mark.parametrize(
    ("message", "file_ids", "skill", "expected"),
    [
        ("sum it up", (FILE,), None, "files:general"),
        ("write it", (), "report", "skill:general"),
        ("both", (FILE,), "report", "files:general"),
        ("[ROUTE_TO: sql] use this", (FILE,), "report", "named:sql"),
        ("neither", (), None, MODEL),
        ("an empty name", (), "", MODEL),
    ],
)
def test_fields_of_the_request_route_as_their_marks_do(
    message: str, file_ids: tuple[str, ...], skill: str | None, expected: str | None
) -> None:
    assert where(message, file_ids, skill) == expected


def test_a_reader_is_told_who_answers_and_why() -> None:
    route = choose("[ROUTE_TO: night_shift] go", file_ids=(), skill=None, agents=AGENTS)
    assert route == Route("named", "a7c31f", "→ night_shift: the message names it")


def test_an_unknown_name_is_answered_with_the_known_ones_and_the_nearest() -> None:
    route = choose("[ROUTE_TO: sqll] go", file_ids=(), skill=None, agents=AGENTS)
    assert route == Route(
        "named",
        None,
        "There is no agent `sqll`. Did you mean `sql`? Choose one of: research, sql, "
        "content-writer, night_shift, general.",
    )
    assert where(f"[ROUTE_TO: {'x' * 10_000}]") is MODEL


@pytest.mark.parametrize(
    "message",
    [
        "[ROUTE_TO:" + "`" * 999_990,
        "[ROUTE_TO:" + "".join("`" * length + "x" for length in range(1, 1400)),
        "[ROUTE_TO:" * 99_999,
        "[ROUTE_TO:" + " " * 999_000,
        "[ROUTE_TO:" + "```\n" * 249_990,
        "x" + "[SKILL:" * 142_857,
        "[ROUTE_TO:" + "> \n" * 333_330,
    ],
    ids=["ticks", "runs", "marks", "spaces", "fences", "skills", "quotes"],
)
def test_the_longest_message_takes_no_longer_than_its_length(message: str) -> None:
    """It would not end within the hour if a rule looked at every character for every character."""
    assert 970_000 < len(message) <= 1_000_000
    assert choose(message, file_ids=(), skill=None, agents=AGENTS) is None
    after = f"{'x' * 100_000}[ROUTE_TO: sql]"
    assert choose(after, file_ids=(), skill=None, agents=AGENTS) is None


@pytest.mark.parametrize(
    "message", ["[ROUTE_`x`TO: sql]", "`x`[SKILL: report]", "[用户上传`x`了以下文件]"]
)
def test_leaving_out_code_makes_no_mark(message: str) -> None:
    assert choose(message, file_ids=(), skill=None, agents=AGENTS) is None


@given(st.text(max_size=400))
def test_no_text_breaks_the_rules_and_none_names_an_agent_without_the_mark(text: str) -> None:
    route = choose(text, file_ids=(), skill=None, agents=AGENTS)
    if "[route_to:" not in text.casefold():
        assert route is None or route.rule != "named"


@requirement("S2.2.1a")
@given(st.text(alphabet="`~> \n[]ROUTE_TO: sql", max_size=200))
def test_no_mark_inside_a_closed_block_counts(text: str) -> None:
    inside = text.replace("`", "").replace("~", "")
    asked = f"look:\n```\n{inside}\n[ROUTE_TO: sql]\n```"
    assert choose(asked, file_ids=(), skill=None, agents=AGENTS) is None
