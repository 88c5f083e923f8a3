"""The chat tab, run by AppTest against a real server with the scripted model."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.end_to_end.server import Server

if TYPE_CHECKING:
    from conftest import Page, Visit

WRITE = '!tool write_file {"file_path": "/note.txt", "content": "first\\n"}\n!echo written'


@pytest.fixture(scope="module")
def server(start: Callable[..., Server]) -> Server:
    return start()


@pytest.fixture
def page(server: Server, visit: Visit) -> Page:
    return visit(server.url)


def is_ready(page: Page) -> bool:
    return page.is_ready


def is_asking(page: Page) -> bool:
    return bool(page.buttons("approve-"))


def fill(page: Page, beginning: str, text: str) -> None:
    fields = [*page.app.text_area, *page.app.text_input]
    [field] = [each for each in fields if (each.key or "").startswith(beginning)]
    field.set_value(text)


def test_an_answer_arrives_with_its_thinking_and_its_calls(page: Page) -> None:
    assert "alice" in page.words
    page.ask('!think let me see\n!tool ls {"path": "/"}\n!echo hello **there**').until(is_ready)
    assert [each.name for each in page.app.chat_message] == ["user", "assistant"]
    assert "hello **there**" in [each.value for each in page.app.markdown]
    labels = [each.label for each in page.app.expander]
    assert labels[:2] == [":material/psychology: 思考", ":material/check_circle: ls · 完成"]
    assert not page.buttons("stop")


def test_the_answer_is_shown_while_it_comes_and_can_be_stopped(page: Page) -> None:
    page.ask("!slow 4000 20").until(lambda page: len(page.app.chat_message[1].markdown) > 0)
    early = page.said[1]
    page.until(lambda page: page.said[1] != early)
    assert page.said[1].startswith(early)
    assert not page.is_ready
    page.press("stop").until(is_ready)
    assert "已停止。" in page.words
    assert page.said[1].startswith(early)


def test_a_call_that_waits_is_approved(page: Page) -> None:
    page.ask(WRITE).until(is_asking)
    assert "**write\\_file** 等待您的决定" in page.words
    page.press("approve-").until(is_ready)
    assert "written" in page.words
    assert "description: 写入" in page.words


def test_a_call_that_waits_is_rejected(page: Page) -> None:
    page.ask(WRITE).until(is_asking).press("reject-").until(is_ready)
    assert "已停止：调用被拒绝。" in page.words
    assert "written" not in [each.value for each in page.app.markdown]


def test_a_call_that_waits_is_edited_and_what_cannot_be_read_is_told(page: Page) -> None:
    page.ask(WRITE).until(is_asking)
    fill(page, "args-", "{no JSON")
    assert "参数不是 JSON" in page.press("edit-").words
    fill(page, "args-", json.dumps({"file_path": "/other.txt", "content": "second\n"}))
    page.press("edit-").until(is_ready)
    assert "description: 写入 /other.txt" in page.words
    assert "+second" in page.words


def test_a_call_that_waits_is_answered_with_words(page: Page) -> None:
    page.ask(WRITE).until(is_asking)
    assert "请填写助手应该怎么做。" in page.press("respond-").words
    fill(page, "words-", "Leave the file alone.")
    page.press("respond-").until(is_ready)
    assert "Leave the file alone." in page.words
    assert "description: 写入" not in page.words


def test_what_was_said_stays_when_the_script_runs_again(page: Page) -> None:
    page.ask("!echo one").until(is_ready).ask("!echo two").until(is_ready)
    assert page.run().said == ["!echo one", "one", "!echo two", "two"]


def test_a_page_that_is_loaded_again_shows_the_conversation(server: Server, visit: Visit) -> None:
    first = visit(server.url).ask("!echo kept").until(is_ready)
    again = visit(server.url, conversation=first.app.query_params["conversation"])
    assert again.said == ["!echo kept", "kept"]


def test_a_page_loaded_in_the_middle_of_an_answer_reads_on(server: Server, visit: Visit) -> None:
    first = visit(server.url).ask(WRITE).until(is_asking)
    again = visit(server.url, conversation=first.app.query_params["conversation"]).until(is_asking)
    again.press("approve-").until(is_ready)
    assert "written" in again.words
    assert "written" in first.until(is_ready).words


def test_a_conversation_that_is_not_there_is_told_and_a_new_one_begins(
    server: Server, visit: Visit
) -> None:
    page = visit(server.url, conversation="11111111-1111-4111-8111-111111111111")
    assert "它不存在，或属于其他人。" in page.words
    assert page.ask("!echo new").until(is_ready).said == ["!echo new", "new"]


def test_a_new_conversation_begins_empty(page: Page) -> None:
    page.ask("!echo old").until(is_ready)
    before = page.app.query_params["conversation"]
    assert page.press("new").said == []
    assert page.ask("!echo fresh").until(is_ready).said == ["!echo fresh", "fresh"]
    assert page.app.query_params["conversation"] != before


def test_a_model_that_fails_is_told(page: Page) -> None:
    page.ask("!fail recoverable").until(is_ready)
    [told] = page.app.error
    assert "请稍后重试" in told.value
