"""Servers put into files and taken out of them, in both shapes."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataagent_cli.mcp.config_files import edit_config, names_in, with_server, without_server
from dataagent_core.errors import BadInput
from tests.requirements import requirement
from tests.tiers import examples

ENTRY = {"command": "run"}


@requirement("R29.2")
def test_a_file_that_is_not_there_begins_with_the_server(tmp_path: Path) -> None:
    path = tmp_path / "agent" / "mcp.json"
    edit_config(path, with_server("files", ENTRY))
    assert json.loads(path.read_text()) == {"servers": [{"name": "files", "command": "run"}]}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            {"servers": [{"name": "a", "x": 1}], "more": True},
            {"servers": [{"name": "a", "x": 1}, {"name": "files", "command": "run"}], "more": True},
        ),
        (
            {"mcpServers": {"a": {"x": 1}}},
            {"mcpServers": {"a": {"x": 1}, "files": {"command": "run"}}},
        ),
        ({"servers": {"a": {}}}, {"servers": {"a": {}, "files": {"command": "run"}}}),
    ],
)
def test_a_shape_is_kept_and_so_is_everything_else(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any]
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps(before))
    edit_config(path, with_server("files", ENTRY))
    assert json.loads(path.read_text()) == after
    edit_config(path, without_server("files"))
    assert json.loads(path.read_text()) == before


def test_what_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    for content in (b"not JSON", b"[]", b'{"a": "\xe4"}', b"[" * 99_999, b'{"servers": "x"}'):
        path.write_bytes(content)
        with pytest.raises(BadInput):
            edit_config(path, with_server("files", ENTRY))
        assert path.read_bytes() == content
    path.write_text('{"mcpServers": {"files": {}}}')
    with pytest.raises(BadInput, match="already"):
        edit_config(path, with_server("files", ENTRY))
    with pytest.raises(BadInput, match="no server 'other'"):
        edit_config(path, without_server("other"))


@requirement("P47")
@settings(max_examples=examples(100))
@given(st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=5), st.booleans())
def test_what_was_added_is_there_until_it_is_removed(names: list[str], is_by_name: bool) -> None:
    file: dict[str, Any] = {"mcpServers": {}} if is_by_name else {}
    for name in names:
        file = with_server(name, ENTRY)(file)
    assert names_in(file) == set(names)
    for name in names:
        file = without_server(name)(file)
    assert names_in(file) == set()
