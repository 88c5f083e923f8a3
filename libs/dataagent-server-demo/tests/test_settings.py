"""The demo's two variables are read, tidied and checked."""

from __future__ import annotations

import pytest

from dataagent_server_demo import BadDemoSettings, DemoSettings, load_settings


def test_nothing_set_is_the_server_that_make_run_starts() -> None:
    assert load_settings({}) == DemoSettings("http://127.0.0.1:8000", None)
    assert load_settings({"DATAAGENT_SERVER_URL": "", "DATAAGENT_API_KEY": " "}) == load_settings(
        {}
    )


def test_address_and_key_are_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAAGENT_SERVER_URL", "https://data.example.org/agent/ ")
    monkeypatch.setenv("DATAAGENT_API_KEY", " da_123 ")
    settings = load_settings()
    assert settings == DemoSettings("https://data.example.org/agent", "da_123")


def test_the_key_is_not_shown() -> None:
    assert "da_123" not in repr(load_settings({"DATAAGENT_API_KEY": "da_123"}))


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:8000",
        "ftp://host",
        "http://",
        "http://host:99999",
        "http://host:0",
        "http://h?a=1",
    ],
)
def test_an_unusable_address_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(BadDemoSettings, match=r"例如 http://127\.0\.0\.1:8000"):
        load_settings({"DATAAGENT_SERVER_URL": address})


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(BadDemoSettings) as caught:
        load_settings({"DATAAGENT_SERVER_URL": "http://me:secret@host"})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["a b", "clé", "a\nb"])
def test_a_key_that_no_header_can_carry_is_refused(key: str) -> None:
    with pytest.raises(BadDemoSettings, match="DATAAGENT_API_KEY"):
        load_settings({"DATAAGENT_API_KEY": key})
