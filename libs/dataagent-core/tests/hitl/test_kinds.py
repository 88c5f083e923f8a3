"""Kinds of calls: which calls an approval of "every call of this kind" covers."""

from __future__ import annotations

import pytest

from dataagent_core.hitl import ActionRequest
from tests.requirements import requirement


def kind(name: str, **args: object) -> str | None:
    return ActionRequest(name, args).kind


@requirement("R3.6")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git status", "shell: git status"),
        ("git   status --short src", "shell: git status"),
        ("git -C /tmp push", "shell: git -C /tmp"),
        ("ls", "shell: ls"),
        ("python -c 'print(1)'", None),  # a parenthesis, also in quotes
        ("python -c pass", "shell: python -c pass"),
        ("python -m pytest -q", "shell: python -m pytest"),
        ("git commit -m 'two words'", "shell: git commit"),
        ("", None),
        ("git 'status", None),
        ("git status; rm -r .", None),
        ("git status && rm -r .", None),
        ("git status | sh", None),
        ("git status > .profile", None),
        ("git status $(rm -r .)", None),
        ("git status `rm -r .`", None),
        ("git status\nrm -r .", None),
        ("GIT_PAGER=evil git log", None),
        ("sudo git status", None),
        ("/usr/bin/env git status", None),
        ("find . -delete", None),
    ],
)
def test_a_command_is_of_the_kind_of_its_program_and_subcommand(
    command: str, expected: str | None
) -> None:
    assert kind("shell", command=command) == expected


def test_a_command_of_any_tool_is_of_a_kind_of_its_own() -> None:
    assert kind("box__run", command="git status", cwd="/") == "box__run: git status"
    assert kind("box__run", command=["git", "status"]) is None


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"url": "https://API.example.com/a?b=1"}, "http_request: GET https://api.example.com"),
        ({"url": "https://x.org:8443/", "method": "post"}, "http_request: POST https://x.org:8443"),
        ({"url": "https://user:word@x.org/"}, None),
        ({"url": f"https://x.org/?q={'a' * 201}"}, None),
        ({"url": "https://x.org/?q=ZGF0YSBvZiB0aGUgY29tcGFueSwgZW5jb2RlZA"}, None),
        ({"url": "nothing"}, None),
        ({"url": "https://x.org:port/"}, None),
    ],
)
def test_a_request_is_of_the_kind_of_its_method_and_server(
    args: dict[str, object], expected: str | None
) -> None:
    assert kind("http_request", **args) == expected


def test_any_other_call_is_of_the_kind_of_its_tool() -> None:
    assert kind("write_file", file_path="/a", content="b") == "write_file"


def test_a_form_has_no_kind() -> None:
    assert ActionRequest("mall__order", {}, request_id="ask-1").kind is None
