"""A SKILL.md is read as written or refused with a reason; nothing in it can do harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.skills.skill import MAX_SKILL_BYTES, BadSkill, parse_skill
from tests.requirements import requirement

GOOD = b"---\nname: tidy-data\ndescription: Cleans tables.\n---\n\n# Steps\n\nTrim the headers.\n"


def with_header(header: str) -> bytes:
    return f"---\n{header}\n---\nSteps.\n".encode()


@requirement("S2.3a")
def test_a_skill_is_read_as_it_was_written() -> None:
    header = (
        "name: tidy-data\ndescription: >-\n  Cleans tables,\n  carefully.\nlicense: MIT\n"
        "allowed-tools: sql_db_query  execute_python\nmetadata:\n  version: '1'"
    )
    read = parse_skill(with_header(header), folder="tidy-data")
    assert (read.name, read.description) == ("tidy-data", "Cleans tables, carefully.")
    assert read.tools == ("sql_db_query", "execute_python")
    assert read.instructions == "Steps."


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + GOOD,
        GOOD.replace(b"\n", b"\r\n"),
        GOOD.replace(b"tidy-data\n", b'"tidy-data"  # ours\n'),
        GOOD.replace(b"Cleans tables.", "清理表格。".encode()),
        GOOD + b"\n---\nmore below a line\n",
    ],
    ids=["bom", "crlf", "quoted", "chinese", "line-in-text"],
)
def test_the_same_in_other_spellings(content: bytes) -> None:
    read = parse_skill(content, folder="tidy-data")
    assert read.name == "tidy-data"
    assert "Trim the headers." in read.instructions


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b]\nname: x\ndescription: y"
BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "does not begin with front matter"),
    "no front matter": (b"# Title\n", "does not begin with front matter"),
    "no end": (b"---\nname: x\n", "no end"),
    "not yaml": (with_header("name: x: y"), r"not YAML \(line 2\)"),
    "colon in text": (with_header("name: x\ndescription: use when: often"), r"line 3.*quotes"),
    "a list": (with_header("- name"), "not a list of fields"),
    "a word": (with_header("name"), "not a list of fields"),
    "nothing": (with_header(""), "not a list of fields"),
    "no name": (with_header("description: y"), "no name"),
    "name is a list": (with_header("name: [x]\ndescription: y"), "no name"),
    "capital": (with_header("name: X\ndescription: y"), "a-z"),
    "underscore": (with_header("name: x_y\ndescription: y"), "a-z"),
    "path": (with_header("name: ../x\ndescription: y"), "a-z"),
    "two hyphens": (with_header("name: x--y\ndescription: y"), "a-z"),
    "long name": (with_header(f"name: {'x' * 65}\ndescription: y"), "64"),
    "other folder": (with_header("name: y\ndescription: y"), "not that of its folder, 'x'"),
    "no description": (with_header("name: x"), "no description"),
    "blank description": (with_header("name: x\ndescription: '  '"), "no description"),
    "long description": (with_header(f"name: x\ndescription: {'y' * 1025}"), "1025 characters"),
    "no instructions": (b"---\nname: x\ndescription: y\n---\n \n", "no instructions"),
    "not utf-8": (with_header("name: x\ndescription: y") + b"\xff\xfe", "not UTF-8"),
    "half a surrogate": (with_header("name: x\ndescription: y") + b"\xed\xa0\x80", "not UTF-8"),
    "nul": (with_header("name: x\ndescription: y") + b"\x00", "control characters"),
    "escape": (with_header("name: x\ndescription: y") + b"\x1b[2J", "control characters"),
    "too large": (with_header("name: x\ndescription: y") + b"x" * MAX_SKILL_BYTES, "at most"),
    "long header": (with_header(f"name: x\ndescription: y\nz: {'z' * 9000}"), "8192"),
    "bomb": (with_header(BOMB), "anchors or aliases"),
    "anchor alone": (with_header("name: &n x\ndescription: y"), "anchors"),
    "python tag": (with_header("name: !!python/object/apply:os.system ['id']"), "tags"),
    "short tag": (with_header("name: !x y\ndescription: y"), "tags"),
    "binary tag": (with_header("name: x\ndescription: !!binary eA=="), "tags"),
    "deep": (with_header("name: x\nz: " + "[" * 4000), "too deep"),
    "deep blocks": (with_header("z:\n" + "\n".join(" " * n + "a:" for n in range(1, 60))), "deep"),
    "many": (with_header("name: x\nz: [" + "1," * 2000 + "]"), "too long"),
    "endless key": (with_header("? " * 3000), "."),
    "two documents": (with_header("name: x\n...\nname: y"), "."),
}


@requirement("S2.3a")
@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_is_refused_with_its_reason(name: str) -> None:
    content, reason = BAD[name]
    with pytest.raises(BadSkill, match=reason):
        parse_skill(content, folder="x")


def outcome(content: bytes) -> str:
    try:
        return parse_skill(content, folder="x").name
    except BadSkill as bad:
        return str(bad)


@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(with_header)))
def test_any_bytes_are_a_skill_or_a_reason(content: bytes) -> None:
    assert outcome(content)
