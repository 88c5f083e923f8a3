"""Searches whose patterns and trees are made to take long: they end within their steps."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from deepagents.backends.utils import compile_grep_include_glob
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.workspace import FolderBackend
from dataagent_core.workspace.jail import Jail
from dataagent_core.workspace.path_patterns import IncludeGlob
from dataagent_core.workspace.search import Budget, SearchScope, glob, grep
from dataagent_core.workspace.workers import FileWorkers
from tests.waiting import WAIT_SECONDS

DEPTH = 60
DEEP = "/".join(["a"] * DEPTH)


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """Folders called `a`, one in the other, with a file in each."""
    folder = tmp_path
    for _ in range(DEPTH):
        folder = folder / "a"
        folder.mkdir()
        (folder / "f.txt").write_text("hit\n")
    return tmp_path


@pytest.fixture
def workers() -> Generator[FileWorkers]:
    made = FileWorkers()
    yield made
    made.close()


def looked(root: Path, work: Callable[[Jail, Budget], object]) -> Budget:
    budget = Budget(WAIT_SECONDS)
    work(Jail(root), budget)
    return budget


@pytest.mark.parametrize(
    "pattern", ["**/a/" * 6 + "none", "**/a/" * 30 + "*.txt", "**/" * 100 + "none", "*a" * 300]
)
def test_a_search_takes_as_many_steps_as_names_times_segments(deep: Path, pattern: str) -> None:
    named = looked(deep, lambda jail, budget: glob(jail, pattern, SearchScope("/"), budget))
    read = looked(
        deep,
        lambda jail, budget: grep(
            jail, "hit", SearchScope("/"), include=pattern, max_count=None, budget=budget
        ),
    )
    names = sum(range(1, DEPTH + 2))  # of all paths together
    segments = pattern.count("/") + 1
    for budget in (named, read):
        assert budget.entries == 2 * DEPTH + 1
        assert budget.steps <= budget.entries + names * segments
        assert not budget.is_cut


async def test_a_pattern_with_many_globstars_finds_what_it_names(
    deep: Path, workers: FileWorkers
) -> None:
    backend = FolderBackend(deep, workers)
    found = await backend.aglob("**/a/" * 6 + "*.txt")
    assert not found.truncated
    assert len(found.matches or []) == DEPTH - 5
    assert (await backend.aglob("**/a/" * 6 + "none")).matches == []


def test_a_search_ends_when_its_steps_are_used_up_and_says_so(deep: Path) -> None:
    budget = Budget(WAIT_SECONDS, max_steps=50)
    cut = glob(Jail(deep), "*.none", SearchScope("/"), budget)
    assert (cut.matches, cut.truncated) == ([], True)
    assert budget.entries <= 50
    budget = Budget(WAIT_SECONDS, max_steps=50)
    found = grep(Jail(deep), "no", SearchScope("/"), include=None, max_count=None, budget=budget)
    assert found.truncated
    assert budget.entries <= 50


def test_a_search_that_is_stopped_looks_at_nothing_more(deep: Path) -> None:
    budget = Budget(WAIT_SECONDS)
    budget.stop()
    assert glob(Jail(deep), "*.none", SearchScope("/"), budget).truncated
    assert budget.entries == 0


PIECES = ["a", "b", "ab", ".", "*", "?", "[ab]", "[!a]", "[a-c]", "{a,b}", "{a/b,*}", "\\*", "é"]
SEGMENTS = st.one_of(st.just("**"), st.lists(st.sampled_from(PIECES), max_size=3).map("".join))
NAMES = st.sampled_from(["a", "b", "ab", "abc", ".a", "a.b", "*", "é"])


@given(
    st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join),
    st.lists(NAMES, min_size=1, max_size=4).map("/".join),
)
def test_patterns_mean_what_they_mean_elsewhere(pattern: str, path: str) -> None:
    if ".." in pattern or "*?" in pattern or "*[" in pattern or "*{" in pattern:
        return  # wcmatch lets some of these match a leading dot
    if "//" in pattern and pattern.count("**") > 1:
        return  # wcmatch lets `**/**//**` match nothing
    expected = compile_grep_include_glob(pattern)(path)
    assert IncludeGlob(pattern).matches(path, lambda _: None) == expected


@pytest.mark.parametrize(
    "pattern", ["{a,b}" * 100, "{" * 900, "{a," * 300, "{1..99999999}", "a" * 1001, "../a"]
)
async def test_a_pattern_that_asks_for_too_much_is_refused(
    tmp_path: Path, workers: FileWorkers, pattern: str
) -> None:
    backend = FolderBackend(tmp_path, workers)
    assert (await backend.aglob(pattern)).error
    assert (await backend.agrep("x", glob=pattern)).error
