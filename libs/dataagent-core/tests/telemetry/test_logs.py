"""Log lines are JSON, carry the request's id, and hold no secret."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.config import Settings
from dataagent_core.telemetry import (
    JsonFormatter,
    Scrubber,
    accepted_request_id,
    bind_request_id,
    bind_run,
    bind_user,
    configure_logging,
    current_request_id,
    new_request_id,
    unbind_request_id,
)
from dataagent_core.telemetry.logs import MASK
from tests.requirements import requirement


def record(message: str, *args: object, **extra: Any) -> logging.LogRecord:
    made = logging.makeLogRecord({"name": "a.b", "levelno": 20, "levelname": "INFO"})
    made.msg, made.args = message, args
    vars(made).update(extra)
    return made


def line(message: str, *args: object, **extra: Any) -> dict[str, Any]:
    return json.loads(JsonFormatter().format(record(message, *args, **extra)))


@requirement("R22.1", "R22.2")
def test_a_line_has_time_level_message_request_id_and_its_fields() -> None:
    token = bind_request_id("req-1")
    try:
        made = line("hello %s", "you", status=200, path="/x")
    finally:
        unbind_request_id(token)
    assert made.pop("timestamp").endswith("Z")
    assert made == {
        "level": "info",
        "message": "hello you",
        "logger": "a.b",
        "request_id": "req-1",
        "run_id": None,
        "user_id": None,
        "status": 200,
        "path": "/x",
    }
    assert line("later")["request_id"] is None


def test_an_exception_is_one_field_without_secrets() -> None:
    try:
        raise RuntimeError("password=hunter2 at postgresql://u:hunter3@h/d")
    except RuntimeError as error:
        failed = record("it failed")
        failed.exc_info = (type(error), error, error.__traceback__)
    made = json.loads(JsonFormatter().format(failed))
    assert "RuntimeError" in made["exception"]
    assert "hunter" not in json.dumps(made)


@given(st.text(), st.one_of(st.text(), st.binary(), st.floats(), st.integers(), st.none()))
def test_any_record_becomes_one_json_line(message: str, value: object) -> None:
    text = JsonFormatter().format(record(message + " %d", value, field=value))
    assert "\n" not in text
    assert isinstance(json.loads(text), dict)


def test_a_lone_surrogate_does_not_lose_the_line() -> None:
    assert json.loads(JsonFormatter().format(record("\ud800", field="\udfff")))["level"] == "info"


SECRETS = [
    "Authorization: Bearer abcdefghijkl",
    "authorization=Basic dXNlcjpwYXNz",
    "X-API-Key: abcdefgh12345",
    "api_key=abcdefgh12345&x=1",
    '{"password": "abcdefgh12345"}',
    "{'client_secret': 'abcdefgh12345'}",
    "GET /login?token=abcdefgh12345",
    "postgresql://user:abcdefgh12345@host/db",
    "redis://:abcdefgh12345@host",
    "POSTGRESQL+PSYCOPG://user:abcdefgh12345@host/db",
    "see1postgresql://user:abcdefgh12345@host/db",
    "x-my-password: abcdefgh12345",
    "sk-abcdefgh12345abcdefgh",
    "dak_abcdefgh12345abcdefgh12345",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhYmNkZWZnaDEyMzQ1In0.abcdefgh12345",
]


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_are_known_by_their_shape(text: str) -> None:
    scrubbed = Scrubber().text(text)
    assert MASK in scrubbed
    assert not any(part in scrubbed for part in ("abcdefgh", "dXNlcjpwYXNz"))


@pytest.mark.parametrize(
    "text",
    ["run abc-123 ended", "12 tokens: fine", "token_usage 7", "https://host/path?after=7", "a@b.c"],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert Scrubber().text(text) == text


@given(
    st.lists(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=8, max_size=40)),
    st.text(),
)
def test_known_secrets_never_get_through(known: list[str], around: str) -> None:
    scrubber = Scrubber(known)
    for secret in known:
        assert secret not in scrubber.text(f"{around}{secret}{around}") or secret in MASK


def test_fields_are_hidden_by_name_and_searched_inside() -> None:
    scrubber = Scrubber(["hunter22"])
    assert scrubber.field("password", "x") == MASK
    assert scrubber.field("password", None) is None
    assert scrubber.field("data", {"api_key": "x", "n": 1, "list": ["is hunter22", 2.5]}) == {
        "api_key": MASK,
        "n": 1,
        "list": [f"is {MASK}", 2.5],
    }


@pytest.fixture
def logging_restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("logging_restored")
def test_the_settings_secrets_are_scrubbed_from_all_logging() -> None:
    stream = io.StringIO()
    values: dict[str, Any] = {"openai_api_key": "very-private-1", "log_level": "INFO"}
    configure_logging(Settings(**values), stream=stream, secrets=["very-private-2"])
    logging.getLogger("anything").info("very-private-1 and very-private-2 and %s", "open")
    logging.getLogger("anything").debug("not at this level")
    written = [json.loads(each) for each in stream.getvalue().splitlines()]
    assert [each["message"] for each in written] == [f"{MASK} and {MASK} and open"]


@requirement("R22.5")
async def test_work_that_a_request_starts_carries_its_id() -> None:
    seen: list[str | None] = []

    async def work() -> None:
        seen.append(current_request_id())

    token = bind_request_id("outer")
    task = asyncio.create_task(work())
    unbind_request_id(token)
    await task
    await work()
    assert seen == ["outer", None]


@given(st.text())
def test_a_request_id_is_always_short_and_harmless(candidate: str) -> None:
    made = accepted_request_id(candidate)
    assert 1 <= len(made) <= 64
    assert made.isascii()
    assert all(character.isalnum() or character in "._-" for character in made)


def test_fresh_request_ids_differ() -> None:
    assert len({new_request_id() for _ in range(100)}) == 100


@requirement("R22.5")
async def test_lines_of_a_run_name_it_and_its_user_and_others_do_not() -> None:
    seen: list[dict[str, Any]] = []

    async def work() -> None:
        bind_run("run-7", "alice")
        seen.append(line("inside"))

    token = bind_request_id("req-7", address="192.0.2.1")
    bind_user("bob", via="cookie")
    await asyncio.create_task(work())
    seen.append(line("beside"))
    unbind_request_id(token)
    seen.append(line("after"))
    assert [(each["request_id"], each["user_id"], each["run_id"]) for each in seen] == [
        ("req-7", "alice", "run-7"),
        ("req-7", "bob", None),
        (None, None, None),
    ]


@requirement("R22.1")
@pytest.mark.usefixtures("logging_restored")
def test_structlog_writes_the_same_lines() -> None:
    stream = io.StringIO()
    configure_logging(Settings(), stream=stream)
    logger = structlog.get_logger("shop.orders")
    logger.info("sold", price=3, password="hunter22")
    logger.debug("not at this level")
    try:
        raise RuntimeError("token=hunter22")
    except RuntimeError:
        logger.exception("failed")
    sold, failed = [json.loads(each) for each in stream.getvalue().splitlines()]
    assert (sold["message"], sold["level"], sold["logger"]) == ("sold", "info", "shop.orders")
    assert (sold["price"], sold["password"], sold["request_id"]) == (3, MASK, None)
    assert "RuntimeError" in failed["exception"]
    assert "hunter22" not in stream.getvalue()


@pytest.mark.usefixtures("logging_restored")
def test_a_line_whose_level_is_off_is_not_even_put_together() -> None:
    class Costly:
        def __str__(self) -> str:
            raise AssertionError("nobody reads it")

    configure_logging(Settings(), stream=io.StringIO())
    logging.getLogger("a").debug("%s", Costly(), extra={"field": Costly()})
    structlog.get_logger("a").debug("x", field=Costly())


@pytest.mark.parametrize("piece", ["a", "a-", "eyJ", "eyJa.", "password ", "x://", "bearer ", "_"])
def test_no_text_takes_longer_than_its_length(piece: str) -> None:
    """A pattern that looks again from every place would take hours for these."""
    Scrubber(["very-private-1"]).text(piece * (16_000 // len(piece)))
    made = line(piece * (1_000_000 // len(piece)), field=piece * 1_000_000)
    assert len(json.dumps(made)) < 200_000
