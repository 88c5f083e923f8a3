"""Every requirement has a test that runs, and every id that a test names exists."""

from __future__ import annotations

import pytest

from tests import requirements
from tests.requirements import (
    Proof,
    UnprovenRequirements,
    browser_files,
    known,
    named_ids,
    named_in_browser_tests,
    parsed,
    proofs,
    selected,
)

pytest_plugins = ["pytester"]


@pytest.fixture(scope="module")
def marks() -> dict[str, list[Proof]]:
    return proofs()


def test_every_requirement_has_a_test(marks: dict[str, list[Proof]]) -> None:
    missing = [f"{one.id}  {one.sentence}" for one in known().values() if one.id not in marks]
    assert not missing, f"{len(missing)} without a test:\n" + "\n".join(missing)


def test_every_named_id_exists(marks: dict[str, list[Proof]]) -> None:
    assert [proof for one, named in marks.items() if one not in known() for proof in named] == []


def test_no_browser_test_is_switched_off() -> None:
    assert [path.name for path in browser_files() if selected(path.read_text("utf-8"))] == []
    assert selected('test.describe.only("x", () => {});')


def test_every_criterion_has_its_number() -> None:
    """Numbers of a requirement have no gap, so that none was forgotten."""
    numbers: dict[str, list[int]] = {}
    for one in known():
        head, _, tail = one.rpartition(".") if one[0] in "RM" else (one[0], "", one[1:])
        if one[0] != "S":
            numbers.setdefault(head, []).append(int(tail))
    assert {h: n for h, n in numbers.items() if n != list(range(1, len(n) + 1))} == {}
    assert [one for one in numbers if one[0] == "R"] == [f"R{number}" for number in range(1, 37)]
    assert (len(numbers["P"]), len(numbers["B"]), len(numbers["G"])) == (56, 23, 17)


@pytest.mark.parametrize("line", ["R1.1", "P1 Of another section", "  departs: from nothing", " "])
def test_a_line_that_says_nothing_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="requirement_ids"):
        parsed(f"# R Requirements\n{line}")


def test_a_departure_belongs_to_the_line_above() -> None:
    one = parsed("# R Requirements\nR1.1 It is red\n  departs: it is blue")["R1.1"]
    assert (one.sentence, one.departs, one.section) == ("It is red", "it is blue", "R Requirements")


MARKED = """
@requirement("R1.1", "P2")
async def test_counts(): ...

@requirement("G1")
def helper(): ...

@pytest.mark.skip
@requirement("G2")
def test_skipped(): ...

@requirement("G3")
def test_that_skips_itself():
    if not found:
        pytest.skip("not here")

class TestThing:
    @pytest.mark.parametrize("a", [1])
    @requirement("R9.9")
    def test_inside(self, a): ...

@pytest.mark.skipif(True, reason="never")
class TestOther:
    @requirement("G4")
    def test_inside(self): ...
"""


def test_ids_are_read_from_marks_of_tests_that_run() -> None:
    assert sorted(named_ids(MARKED)) == [
        ("P2", "test_counts"),
        ("R1.1", "test_counts"),
        ("R9.9", "test_inside"),
    ]
    assert list(named_ids('pytestmark = pytest.mark.skipif(True, reason="")\n' + MARKED)) == []


def test_ids_are_read_from_browser_tests() -> None:
    source = """
const BOTH = requirement("R36.1", "R36.2");
test("is added", BOTH, async ({ page }) => {});
test(
  "is shown",
  requirement("R36.3"),
  async ({ page }) => {},
);
test("is first", { ...BOTH, tag: "@first" }, async ({ page }) => {});
test.skip("is not run", requirement("R36.4"), async ({ page }) => {});
"""
    assert list(named_in_browser_tests(source)) == [
        ("R36.1", "is added"),
        ("R36.2", "is added"),
        ("R36.3", "is shown"),
        ("R36.1", "is first"),
        ("R36.2", "is first"),
    ]


QUIET = ("-p", "no:timeout", "-p", "no:asyncio")

WHOLE = """
import pytest

@pytest.fixture
def program():
    pytest.skip("not installed")

@pytest.mark.requirement("R1.1")
def test_runs(): ...

@pytest.mark.requirement("R1.2")
def test_needs_a_program(program): ...
"""


@pytest.mark.parametrize(
    ("arguments", "status"), [([], 1), (["-k", "test_"], 0), (["test_x.py"], 0), (["--co"], 0)]
)
def test_a_whole_run_fails_where_every_test_of_an_id_was_skipped(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    status: int,
) -> None:
    asked = parsed("# R Requirements\nR1.1 Runs\nR1.2 Needs a program\nR36.1 Is in the browser")
    monkeypatch.setattr(requirements, "known", lambda: asked)
    monkeypatch.setattr(requirements, "in_browser", lambda: {"R36.1"})
    pytester.makeini("[pytest]\ntestpaths = .\nmarkers = requirement")
    pytester.makepyfile(test_x=WHOLE)
    result = pytester.runpytest_inprocess(*QUIET, *arguments, plugins=[UnprovenRequirements()])
    assert result.ret == status
    assert ("R1.2" in result.stdout.lines) == bool(status)
