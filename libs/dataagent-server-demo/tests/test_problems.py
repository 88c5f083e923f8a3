"""Every error of the client has words and a way out."""

from __future__ import annotations

import inspect

import pytest

import dataagent_client.errors
from dataagent_client import ApiError, ClientError, ConnectionFailed, EventsLost, ProtocolError
from dataagent_client.errors import error_from_response
from dataagent_server_demo.page_text import Problem, explain, explain_mcp
from tests.requirements import requirement

URL = "http://127.0.0.1:8000"
KINDS = [
    kind
    for _, kind in inspect.getmembers(dataagent_client.errors, inspect.isclass)
    if issubclass(kind, ClientError)
]


def made(kind: type[ClientError]) -> ClientError:
    if issubclass(kind, ApiError):
        return kind("Why.", status=400, error_code="x")
    return kind(1, 2, None) if issubclass(kind, EventsLost) else kind("Why.")


@requirement("P56")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_error_has_words_and_a_way_out(kind: type[ClientError]) -> None:
    for problem in (explain(made(kind), URL), explain_mcp(made(kind), URL)):
        assert problem.text
        assert problem.hint
        assert problem.level != "error"


@requirement("R36.7", "P56")
@pytest.mark.parametrize("status", [404, 405, 501])
def test_an_api_that_is_not_built_is_a_hint_and_no_error(status: int) -> None:
    problem = explain_mcp(error_from_response(status, {}, b"<html>"), URL)
    assert problem == Problem(
        "此服务器不提供 MCP 配置。",
        "对话不受影响。较新的 DataAgent 服务器提供此功能。",
        "info",
    )


@pytest.mark.parametrize(
    ("status", "headers", "text", "hint"),
    [
        (401, {}, "服务器不认识这个密钥。", "DATAAGENT_API_KEY"),
        (403, {}, "Why.", "规则"),
        (404, {}, "Why.", "属于其他人"),
        (409, {}, "Why.", "请查看后再试"),
        (422, {}, "Why.", "请更正"),
        (429, {"retry-after": "12"}, "Why.", "已达到上限。请在 12 秒后重试。"),
        (503, {"retry-after": "0.2"}, "Why.", "繁忙。请在 1 秒后重试。"),
        (503, {}, "Why.", "请稍后重试。"),
        (500, {"x-request-id": "q7"}, "服务器出错 (500)。", "请求编号：q7"),
        (500, {}, "服务器出错 (500)。", "请重试。"),
    ],
)
def test_a_refusal_says_why_and_what_to_do(
    status: int, headers: dict[str, str], text: str, hint: str
) -> None:
    body = b'{"error_code": "x", "message": "Why."}'
    problem = explain(error_from_response(status, headers, body), URL)
    assert problem.text == text
    assert hint in problem.hint


def test_a_server_that_is_away_is_named_and_a_long_reason_is_cut() -> None:
    assert URL in explain(ConnectionFailed("refused"), URL).text
    assert URL in explain(ProtocolError("no JSON"), URL).text
    long = explain(ClientError("x" * 900), URL).text
    assert long == "x" * 500 + "…"
