"""A folder with an AGENTS.md is an agent; one that cannot be read is named and left out."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.agents.builtin import WORKSPACE_TOOLS
from dataagent_core.agents.packages import (
    MAX_BYTES,
    BadPackage,
    load_packages,
    read_package,
    shipped_packages,
)
from dataagent_core.agents.types import AgentSpec
from tests.requirements import requirement

MakePackage = Callable[..., Path]


@pytest.fixture
def package(tmp_path: Path) -> MakePackage:
    def make(content: str | bytes | None, name: str = "writer", root: str = "packages") -> Path:
        folder = tmp_path / root / name
        folder.mkdir(parents=True)
        if content is not None:
            raw = content if isinstance(content, bytes) else content.encode()
            (folder / "AGENTS.md").write_bytes(raw)
        return folder

    return make


@requirement("S2.2.4a")
def test_a_package_is_its_prompt_with_what_its_front_matter_says(package: MakePackage) -> None:
    folder = package(
        "---\n"
        "description: Writes posts.\n"
        "icon: pen\n"
        "tools: [read_file, web_search, read_file]\n"
        "subagents:\n  - research\n"
        "model: offline\n"
        "show_in_selector: false\n"
        "---\n"
        "# Writer\n\nYou write.\n"
    )
    (folder / "skills").mkdir()
    assert read_package(folder) == AgentSpec(
        agent_id="writer",
        name="writer",
        description="Writes posts.",
        kind="package",
        system_prompt="# Writer\n\nYou write.",
        model="offline",
        icon="pen",
        show_in_selector=False,
        tools=frozenset({"read_file", "web_search"}),
        skills=(folder / "skills",),
        subagents=("research",),
    )


def test_a_package_needs_no_front_matter(package: MakePackage) -> None:
    spec = read_package(package("\ufeff# Writer\r\n\r\nYou write posts.\r\nMore.\r\n"))
    assert spec.description == "You write posts."
    assert spec.system_prompt == "# Writer\n\nYou write posts.\nMore."
    assert (spec.tools, spec.skills, spec.subagents) == (WORKSPACE_TOOLS, (), ())
    assert "shell" not in WORKSPACE_TOOLS


def test_no_tools_are_said_with_an_empty_list(package: MakePackage) -> None:
    assert read_package(package("---\ntools: []\n---\nx")).tools == frozenset()
    listed = read_package(package("---\ntools: ls, grep\n---\nx", "other"))
    assert listed.tools == frozenset({"ls", "grep"})


BAD: dict[str, tuple[str | bytes | None, str]] = {
    "nothing": (None, "it has no AGENTS.md"),
    "empty": ("", "has no prompt"),
    "only-header": ("---\ndescription: x\n---\n\n", "has no prompt"),
    "open-header": ("---\ndescription: x\nYou write.", "no second line of ---"),
    "not-yaml": ("---\nicon: [a\n---\nx", "not YAML"),
    "a-list": ("---\n- a\n---\nx", "not a list of fields"),
    "typo": ("---\ntool: [ls]\n---\nx", "unknown fields: tool"),
    "number": ("---\ndescription: 3\n---\nx", "description in its front matter is not text"),
    "tools-map": ("---\ntools: {a: b}\n---\nx", "tools in its front matter is not a list"),
    "flag": ("---\nshow_in_selector: maybe\n---\nx", "not true or false"),
    "python": ("---\nicon: !!python/object/apply:os.getcwd []\n---\nx", "not YAML"),
    "binary": (b"\xff\xfe\x00", "not UTF-8"),
    "nul": ("a\x00b", "NUL"),
    "large": ("x" * (MAX_BYTES + 1), "more than"),
    "long-header": (f"---\ndescription: {'x' * 20_000}\n---\nx", "front matter has more than"),
    "renamed": ("---\nname: other\n---\nx", "not that of its folder"),
    "sql": ("You write.", "there is a built-in agent"),
    "agent": ("You write.", "reserved"),
    "supervisor": ("You write.", "reserved"),
    "Upper Case": ("You write.", "cannot be an agent's name"),
}


def test_bad_packages_are_named_and_left_out_and_the_good_one_works(
    package: MakePackage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name, (content, _) in BAD.items():
        package(content, name)
    package("You write.", "writer")
    package("x", ".hidden")
    (tmp_path / "packages" / "README.md").write_text("not a package")
    with caplog.at_level(logging.WARNING):
        found = load_packages([tmp_path / "nowhere", tmp_path / "packages"])
    assert [spec.name for spec in found] == ["writer"]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == len(BAD)
    for name, (_, reason) in BAD.items():
        assert any(f"packages/{name} " in line and reason in line for line in said), (name, said)


def test_a_package_of_a_later_folder_takes_the_place_of_ours(
    package: MakePackage, tmp_path: Path
) -> None:
    package("Ours.", root="ours")
    package("Theirs.", root="theirs")
    package("Other.", "other", root="ours")
    found = load_packages([tmp_path / "ours", tmp_path / "theirs"])
    assert [(spec.name, spec.system_prompt) for spec in found] == [
        ("other", "Other."),
        ("writer", "Theirs."),
    ]


@given(content=st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda t: f"---\n{t}")))
def test_no_content_of_a_file_is_a_crash(tmp_path: Path, content: bytes | str) -> None:
    folder = tmp_path / "any"
    folder.mkdir(exist_ok=True)
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    (folder / "AGENTS.md").write_bytes(raw)
    with suppress(BadPackage):
        assert read_package(folder).system_prompt


@requirement("S2.2.4a")
def test_the_packages_we_ship_can_all_be_read(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        load_packages([shipped_packages()])
    assert caplog.records == []
