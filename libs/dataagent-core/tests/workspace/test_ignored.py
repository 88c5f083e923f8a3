"""What searches in a project leave out, compared with what Git itself ignores."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataagent_core.workspace.jail import Jail, walk
from dataagent_core.workspace.path_patterns import IgnoreFilter

NAMES = st.sampled_from(["a", "b.log", "c.py", "data", "build", "keep.log", "x y", "日志"])
PATTERNS = st.sampled_from(
    [
        "*.log",
        "!keep.log",
        "build/",
        "/data",
        "data/*",
        "!data/c.py",
        "a/b.log",
        "**/build",
        "build/**",
        "# a comment",
        "",
        "x\\ y",
        "日志",
        "?.py",
        "[ab]*",
        "/a/**/c.py",
        "**",
        "a/**/",
        "*/b.log",
        "!*/",
        ".*",
        "\\!a",
        "[!a]*",
        "[[:alpha:]].py",
        "d*a*",
        "data/**/**/a",
        "c.py  ",
    ]
)


def found(root: Path, path: str = "/") -> set[str]:
    jail = Jail(root)
    kept = IgnoreFilter(jail, path)
    with jail.directory(path) as directory:
        return {
            "/".join((*steps, name))
            for steps, names, _ in walk(directory, kept.enter)
            for name in names
            if kept.has(steps, name)
        }


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", root, *words], check=True, capture_output=True)
    return done.stdout.decode()


def as_git_says(root: Path) -> set[str]:
    listed = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return {path for path in listed.split("\0") if path}


@example(files=[["keep.log", "a", "c.py"]], ignores={"": ["[ab]*", "!keep.log"]})
@given(
    files=st.lists(st.lists(NAMES, min_size=1, max_size=4), min_size=1, max_size=12),
    ignores=st.dictionaries(
        st.sampled_from(["", "a", "data", "data/a"]), st.lists(PATTERNS, max_size=5), max_size=3
    ),
)
def test_a_search_leaves_out_what_git_ignores(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[str]], ignores: dict[str, list[str]]
) -> None:
    root = tmp_path_factory.mktemp("repo")
    git(root, "init", "-q")
    for steps in files:
        place = root.joinpath(*steps)
        if not any(parent.is_file() for parent in place.parents) and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("x")
    for folder, patterns in ignores.items():
        if (root / folder).is_dir():
            (root / folder / ".gitignore").write_text("\n".join(patterns))
    assert found(root) == as_git_says(root)


def test_folders_of_packages_are_left_out_without_a_rule(tmp_path: Path) -> None:
    for name in ("node_modules/left/index.js", ".venv/lib/x.py", "__pycache__/a.pyc", "src/a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert found(tmp_path) == {"src/a.py"}


def test_a_folder_that_is_ignored_can_be_searched_by_name(tmp_path: Path) -> None:
    (tmp_path / "node_modules/left").mkdir(parents=True)
    (tmp_path / "node_modules/left/index.js").write_text("x")
    (tmp_path / ".gitignore").write_text("*.js\n")
    assert found(tmp_path, "/node_modules/left") == {"index.js"}


def test_what_the_repository_alone_excludes_is_left_out(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".git/info").mkdir(exist_ok=True)
    (tmp_path / ".git/info/exclude").write_text("private.txt\n")
    (tmp_path / "private.txt").write_text("x")
    (tmp_path / "open.txt").write_text("x")
    assert found(tmp_path) == {"open.txt"}


def test_a_hostile_file_of_patterns_neither_hangs_nor_fails(tmp_path: Path) -> None:
    slow = "\n".join(["*a" * 40 + "b", "**/a/" * 40 + "b", "x" * 2000, "[a-" * 300, " " * 9000])
    bad = "\n".join([slow, "[", "***/", "!", "\\", "\udcff", "/", "a\0b"]).encode(
        errors="surrogateescape"
    )
    (tmp_path / ".gitignore").write_bytes(bad + b"\n*.tmp\n" + b"#" * 200_000 + b"\n*.txt\n")
    (tmp_path / ("a" * 200)).write_text("x")
    (tmp_path / "one.tmp").write_text("x")
    (tmp_path / "two.txt").write_text("x")
    assert found(tmp_path) == {".gitignore", "a" * 200, "two.txt"}


def test_patterns_behind_a_link_are_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("*.txt\n")
    project = tmp_path / "project"
    project.mkdir()
    (project / ".gitignore").symlink_to(outside)
    (project / "a.txt").write_text("x")
    assert found(project) == {".gitignore", "a.txt"}
