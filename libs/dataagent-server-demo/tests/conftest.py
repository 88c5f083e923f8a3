"""Fixtures: real servers on loopback, and the demo's page run against them by AppTest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Protocol

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import dataagent_server_demo
from tests.end_to_end.server import KEY, Server
from tests.homes import prepared_home
from tests.waiting import WAIT_SECONDS

APP = Path(dataagent_server_demo.__file__).with_name("app.py")


class Page:
    """The demo in a browser that shows nothing: AppTest, with what a visitor does."""

    def __init__(self, app: AppTest) -> None:
        self.app = app

    def run(self) -> Page:
        """Run the script again; it must not fail."""
        self.app.run()
        assert not self.app.exception, [each.message for each in self.app.exception]
        return self

    def until(self, is_so: Callable[[Page], bool]) -> Page:
        """Run the script again and again, as a browser does, until it is so."""
        end = time.monotonic() + WAIT_SECONDS
        while not is_so(self.run()):
            assert time.monotonic() < end, self.words
        return self

    def ask(self, message: str) -> Page:
        """Send a message."""
        self.app.chat_input(key="ask").set_value(message)
        return self.run()

    @property
    def is_ready(self) -> bool:
        """Whether no answer is under way."""
        return not self.app.chat_input(key="ask").disabled

    def buttons(self, beginning: str) -> list[str]:
        """The keys of the buttons whose keys begin so."""
        return [key for each in self.app.button if (key := each.key or "").startswith(beginning)]

    def press(self, beginning: str) -> Page:
        """Press the one button whose key begins so."""
        [key] = self.buttons(beginning)
        self.app.button(key=key).click()
        return self.run()

    @property
    def said(self) -> list[str]:
        """The first words of each message of the conversation."""
        return [str([*each.text, *each.markdown][0].value) for each in self.app.chat_message]

    @property
    def words(self) -> str:
        """All that the page says, for a person to read."""
        app = self.app
        elements = [*app.markdown, *app.caption, *app.text, *app.code]
        elements += [*app.success, *app.info, *app.warning, *app.error]
        labels = [each.label for each in app.expander]
        return "\n".join([*(str(each.value) for each in elements), *labels])


class Visit(Protocol):
    """Opens the page of a server."""

    def __call__(self, server_url: str, api_key: str | None = KEY, **parameters: str) -> Page: ...


@pytest.fixture(scope="module")
def prepare(tmp_path_factory: pytest.TempPathFactory) -> Generator[Callable[..., Server]]:
    """Makes servers that are not started yet; they end with the module's tests."""
    made: list[Server] = []

    def make(**settings: str) -> Server:
        home = tmp_path_factory.mktemp("server")
        prepared_home(home / "data")
        made.append(Server(home, **settings))
        return made[-1]

    yield make
    for server in made:
        asyncio.run(server.signal())


@pytest.fixture(scope="module")
def start(prepare: Callable[..., Server]) -> Callable[..., Server]:
    """Starts servers that live as long as the module's tests."""

    def begin(**settings: str) -> Server:
        server = prepare(**settings)
        asyncio.run(server.start())
        return server

    return begin


@pytest.fixture
def visit(monkeypatch: pytest.MonkeyPatch) -> Generator[Visit]:
    """Opens pages; what they kept between runs is forgotten in the end."""

    def open_page(server_url: str, api_key: str | None = KEY, **parameters: str) -> Page:
        monkeypatch.setenv("DATAAGENT_SERVER_URL", server_url)
        if api_key is None:
            monkeypatch.delenv("DATAAGENT_API_KEY", raising=False)
        else:
            monkeypatch.setenv("DATAAGENT_API_KEY", api_key)
        app = AppTest.from_file(APP, default_timeout=WAIT_SECONDS)
        app.query_params.update(parameters)
        return Page(app).run()

    yield open_page
    st.cache_resource.clear()
    st.cache_data.clear()
