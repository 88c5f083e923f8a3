"""`mcp.json` in both shapes: what is good is there, what is not is named."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataagent_core.errors import BadInput
from dataagent_core.mcp import MCPConfig, MCPServerConfig
from dataagent_core.mcp.servers.config_files import read_config_file, servers_in
from tests.requirements import requirement
from tests.tiers import examples

NAMES = st.text(
    st.characters(categories=["L", "N", "P", "S"], exclude_characters="/\\"),
    min_size=1,
    max_size=40,
).filter(lambda name: name not in (".", ".."))
TEXTS = st.text(st.characters(exclude_categories=["C"]), max_size=30)
WORDS = TEXTS.filter(lambda text: bool(text.strip()))
VARIABLES = st.dictionaries(
    st.from_regex(r"[A-Z_][A-Z0-9_]{0,15}", fullmatch=True), TEXTS, max_size=4
)


@st.composite
def good_entries(draw: st.DrawFn) -> dict[str, Any]:
    """A server as the two tools write it, with what may be left out left out at times."""
    common = {"disabled": draw(st.booleans()), "timeout": draw(st.integers(1, 300))}
    if draw(st.booleans()):
        entry: dict[str, Any] = {
            "command": draw(WORDS),
            "args": draw(st.lists(TEXTS, max_size=4)),
            "env": draw(VARIABLES),
        }
    else:
        entry = {
            "url": "https://mcp.example/" + draw(st.from_regex(r"[a-z]{0,8}", fullmatch=True)),
            "headers": draw(VARIABLES),
            "type": draw(st.sampled_from(["http", "sse", "streamable-http", "auto"])),
        }
    entry |= common
    optional = sorted(entry.keys() - {"command", "url"})
    for name in draw(st.sets(st.sampled_from(optional))):
        del entry[name]
    return entry


def written(entries: dict[str, dict[str, Any]], *, is_list: bool) -> dict[str, Any]:
    if is_list:
        return {"servers": [{"name": name, **entry} for name, entry in entries.items()]}
    return {"mcpServers": entries}


@pytest.mark.slow
@requirement("P47", "R29.1", "R29.2")
@settings(max_examples=examples(100))
@given(entries=st.dictionaries(NAMES, good_entries(), max_size=6), is_list=st.booleans())
def test_every_good_file_is_read_whole_in_either_shape(
    entries: dict[str, dict[str, Any]], is_list: bool, tmp_path: Path
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps(written(entries, is_list=is_list)), encoding="utf-8")

    found = read_config_file(path, expand=False)

    assert found.problems == ()
    assert [spec.name for spec in found.servers] == [*entries]
    assert len({spec.alias for spec in found.servers}) == len(entries)
    for spec in found.servers:
        entry = entries[spec.name]
        assert (spec.scope, spec.on_change) == ("file", "accept")
        assert spec.command == entry.get("command")
        assert [*spec.args] == entry.get("args", [])
        assert spec.url == entry.get("url")
        assert spec.disabled == entry.get("disabled", False)
        assert spec.connect_timeout_seconds == entry.get("timeout", 30)
        secrets = spec.env if spec.command else spec.headers
        told = {name: value.get_secret_value() for name, value in secrets.items()}
        assert told == entry.get("env", entry.get("headers", {}))


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@requirement("P47", "R29.5")
@settings(max_examples=examples(100))
@given(
    content=ODD
    | st.fixed_dictionaries({"servers": ODD})
    | st.fixed_dictionaries({"mcpServers": st.dictionaries(st.text(max_size=8), ODD, max_size=3)})
    | st.fixed_dictionaries(
        {
            "servers": st.lists(
                st.dictionaries(
                    st.sampled_from(["name", "command", "url", "args", "env", "type", "timeout"]),
                    ODD,
                ),
                max_size=3,
            )
        }
    )
)
def test_no_content_breaks_the_reading(content: Any) -> None:
    found = servers_in(content, environment={})

    assert len(found.problems) <= 1 + 200
    for spec in found.servers:
        assert (spec.command is None) != (spec.url is None)


def test_one_bad_entry_is_reported_and_the_others_are_read() -> None:
    content = {
        "servers": [
            {"name": "good", "command": "a"},
            {"name": "both", "command": "a", "url": "https://x.example"},
            {"command": "no name"},
            "nothing",
            {"name": "good", "command": "again"},
            {"name": "typed", "command": "a", "args": "--x"},
            {"name": "late", "command": "a", "timeout": "soon"},
            {"name": "odd", "url": "https://x.example", "type": "websocket"},
            {"name": "also", "url": "https://x.example"},
        ]
    }

    found = servers_in(content, file="mcp.json")

    assert [spec.name for spec in found.servers] == ["good", "also"]
    assert found.problems == (
        "mcp.json: server 2 is left out. Server 'both' needs a command or a url, and not both.",
        "mcp.json: server 3 is left out. It has no name.",
        "mcp.json: server 4 is left out. It is not an object.",
        "mcp.json: server 5 is left out. There is one of that name before it.",
        "mcp.json: server 6 is left out. 'args' is not a list of texts.",
        "mcp.json: server 7 is left out. 'timeout' is not a number of seconds.",
        "mcp.json: server 8 is left out. Its transport is none of: auto, http, sse, stdio, "
        "streamable-http, streamableHttp, streamable_http.",
    )


def test_a_file_that_cannot_be_used_says_so_and_one_that_is_missing_is_empty(
    tmp_path: Path,
) -> None:
    def problems(raw: bytes) -> tuple[str, ...]:
        path = tmp_path / "mcp.json"
        path.write_bytes(raw)
        found = read_config_file(path, expand=True)
        assert found.servers == ()
        return found.problems

    assert read_config_file(tmp_path / "none.json", expand=True).problems == ()
    assert problems(b"  \n") == ()
    assert problems(b'{"servers": [') == ("mcp.json is not JSON (line 1).",)
    assert problems(b"\xff\xfe\x00") == ("mcp.json is not JSON.",)
    assert problems(b"[" * 100_000) == ("mcp.json is not JSON.",)
    assert problems(b"[]") == ("mcp.json is not an object with 'servers' or 'mcpServers'.",)
    assert problems(b" " * (1024 * 1024) + b"{}") == ("mcp.json is larger than 1 MiB.",)
    (found,) = read_config_file(tmp_path, expand=True).problems
    assert "cannot be read" in found


def test_variables_are_expanded_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", "s3cr3t")
    path = tmp_path / "mcp.json"
    entry = {
        "command": "${TOOL:-mcp-x}",
        "args": ["--at=${CANARY}", "$CANARY", "${1}"],
        "env": {"A": "${CANARY}", "PORT": 80},
    }
    missing = {"command": "x", "env": {"B": "${NOT_SET_AT_ALL}"}}
    path.write_text(json.dumps({"mcpServers": {"x": entry, "y": missing}}))

    filled = read_config_file(path, expand=True)
    plain = read_config_file(path, expand=False)

    (spec,) = filled.servers
    assert (spec.command, spec.args) == ("mcp-x", ("--at=s3cr3t", "$CANARY", "${1}"))
    assert {n: v.get_secret_value() for n, v in spec.env.items()} == {"A": "s3cr3t", "PORT": "80"}
    assert filled.problems == (
        "mcp.json: server 'y' is left out. 'env' asks for the environment variable "
        "NOT_SET_AT_ALL, which is not set.",
    )
    assert plain.problems == ()
    assert plain.servers[0].env["A"].get_secret_value() == "${CANARY}"
    assert "s3cr3t" not in repr(filled)


# -- in a program ---------------------------------------------------------------------------------


def test_a_server_of_a_program_has_the_fields_and_defaults_of_the_file() -> None:
    server = MCPServerConfig("files", "uvx")
    first = [each.name for each in dataclasses.fields(server)][:6]
    assert first == ["name", "command", "args", "env", "disabled", "timeout"]
    assert (server.args, server.env, server.disabled, server.timeout) == ([], {}, False, 30)
    assert MCPServerConfig("a", "b").args is not server.args
    assert MCPConfig() == MCPConfig(servers=[])


@st.composite
def servers_of_programs(draw: st.DrawFn) -> MCPServerConfig:
    name, disabled, timeout = draw(NAMES), draw(st.booleans()), draw(st.integers(1, 300))
    if draw(st.booleans()):
        args = draw(st.lists(TEXTS, max_size=4))
        return MCPServerConfig(name, draw(WORDS), args, draw(VARIABLES), disabled, timeout)
    return MCPServerConfig(
        name,
        None,
        disabled=disabled,
        timeout=timeout,
        url="https://mcp.example/",
        transport=draw(st.sampled_from(["auto", "sse", "streamable_http"])),
        headers=draw(VARIABLES),
        alias=draw(st.none() | st.just("short")),
        call_timeout=draw(st.integers(1, 300)),
        read_only_tools=draw(st.lists(WORDS, max_size=2)),
    )


@requirement("P47", "R29.2")
@settings(max_examples=examples(100))
@given(
    servers=st.lists(servers_of_programs(), max_size=4, unique_by=lambda server: server.name),
)
def test_a_written_file_says_the_same_when_it_is_read(
    servers: list[MCPServerConfig], tmp_path: Path
) -> None:
    path = tmp_path / "of" / "someone" / "mcp.json"
    config = MCPConfig(servers)
    config.to_file(path)
    assert MCPConfig.from_file(path) == config
    assert MCPConfig.from_file(str(path)) == config


def test_a_file_is_written_as_everyone_writes_it_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    files = MCPServerConfig("files", "uvx", ["mcp-server-filesystem"], {"TOKEN": "s3cr3t"})
    docs = MCPServerConfig("docs", None, url="https://docs.example/mcp", timeout=5)
    MCPConfig([files, docs]).to_file(path)
    entry = {
        "name": "files",
        "command": "uvx",
        "args": ["mcp-server-filesystem"],
        "env": {"TOKEN": "s3cr3t"},
        "disabled": False,
        "timeout": 30,
    }
    other: dict[str, Any] = {
        "name": "docs",
        "command": None,
        "args": [],
        "env": {},
        "disabled": False,
    }
    other |= {"timeout": 5, "url": "https://docs.example/mcp"}
    assert path.read_text() == json.dumps({"servers": [entry, other]}, indent=2) + "\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["mcp.json"]
    assert [spec.name for spec in read_config_file(path, expand=True).servers] == ["files", "docs"]
    assert "s3cr3t" not in repr(MCPConfig.from_file(path))


def test_an_invalid_file_raises_in_a_program(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    assert MCPConfig.from_file(path) == MCPConfig()
    for content, reason in (
        ("", None),
        ("{", "mcp.json is not JSON (line 1)."),
        ("[]", "mcp.json is not an object with 'servers' or 'mcpServers'."),
        (
            '{"servers": [{"name": "a", "command": "b"}, {"name": "c", "args": "d"}]}',
            "mcp.json: server 2 cannot be used. 'args' is not a list of texts.",
        ),
        (
            '{"servers": [{"name": "a", "command": "b"}, {"name": "a", "command": "c"}]}',
            "mcp.json: server 2 has the name of one before it.",
        ),
    ):
        path.write_text(content)
        if reason is None:
            assert MCPConfig.from_file(path) == MCPConfig()
            continue
        with pytest.raises(BadInput) as refused:
            MCPConfig.from_file(path)
        assert refused.value.message == reason


def test_variables_of_a_file_stay_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    entry = {"command": "x", "env": {"TOKEN": "${HOME}", "PORT": 80}}
    path.write_text(json.dumps({"mcpServers": {"x": entry}}))
    [server] = MCPConfig.from_file(path).servers
    assert server.env == {"TOKEN": "${HOME}", "PORT": "80"}
