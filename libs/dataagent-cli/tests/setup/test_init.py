"""`dataagent init`: asked or told, checked with a real request, stored for its owner only."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import pytest

from dataagent_cli.arguments import parse
from dataagent_cli.setup.init import change_config
from dataagent_cli.setup.settings import load_settings, store_key, usable_keyring
from dataagent_core.errors import Misconfigured
from tests.standins.openai_server import Status, openai_server, text

from ..pseudo_terminal import Terminal
from .program import dataagent

KEY = "sk-secret-key-1234"


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATAAGENT_MODEL")


def config(home: Path) -> dict[str, object]:
    return tomllib.loads((home / "config.toml").read_text())


@pytest.mark.slow
async def test_a_model_that_answers_is_stored_with_its_key_and_used(home: Path) -> None:
    async with openai_server(text("Hello from there.")) as server:
        told = await dataagent(
            *("init", "--model", "openai:m1", "--url", server.base_url, "--key-from", "-"),
            piped=f"{KEY}\n".encode(),
        )
        assert told.code == 0, told.err
        assert "it answers" in told.err
        assert config(home) == {
            "model": "openai:m1",
            "openai_base_url": server.base_url,
            "openai_api_key": KEY,
        }
        assert (home / "config.toml").stat().st_mode & 0o777 == 0o600
        asked = await dataagent("-p", "hi")
        assert asked.out == "Hello from there.\n", asked.err
        assert server.requests[-1].headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in told.out + told.err + asked.err


async def test_a_key_that_is_refused_is_not_stored(home: Path) -> None:
    async with openai_server(Status(401, {"error": {"message": "bad key"}})) as server:
        argv = ("init", "--model", "openai:m1", "--url", server.base_url, "--key-from", "MY_KEY")
        told = await dataagent(*argv, MY_KEY=KEY)
        assert told.code == 1
        assert "does not accept the key" in told.err
        assert "hint: " in told.err
        assert "Nothing was changed." in told.err
        assert not (home / "config.toml").exists()
        assert len(server.requests) == 1
        kept = await dataagent(*argv, "--no-check", MY_KEY=KEY)
        assert kept.code == 0
        assert config(home)["openai_api_key"] == KEY


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        ((), "no terminal to ask"),
        (("--model", "openai:m", "--key-from", "NO_SUCH"), "no variable 'NO_SUCH'"),
        (("--model", "openai:m", "--url", "localhost:1"), "must begin with http://"),
        (("--model", "anthropic:m", "--url", "http://localhost:1"), "not with 'anthropic:m'"),
        (("--model", "google_genai:m", "--key-from", "HOME"), "cannot be stored here"),
    ],
)
async def test_what_makes_no_sense_is_refused_before_anyone_is_asked(
    home: Path, argv: tuple[str, ...], why: str
) -> None:
    told = await dataagent("init", *argv)
    assert told.code == 2, told.err
    assert why in told.err
    assert not (home / "config.toml").exists()


async def test_the_environment_counts_more_and_that_is_said(home: Path) -> None:
    told = await dataagent("init", "--model", "offline", DATAAGENT_MODEL="scripted")
    assert "note: DATAAGENT_MODEL is set in the environment and takes precedence" in told.err
    asked = await dataagent("-p", "!echo scripted it is", DATAAGENT_MODEL="scripted")
    assert asked.out == "scripted it is\n"


# -- on a terminal --------------------------------------------------------------------------


@pytest.fixture
def terminal(home: Path) -> Iterator[Terminal]:
    del home
    made = Terminal("init")
    yield made
    made.end()


def test_arrow_keys_choose_the_model_and_running_again_shows_it(
    home: Path, terminal: Terminal
) -> None:
    terminal.wait_for("(does not exist yet)")
    terminal.wait_for("Which provider?")
    terminal.type("\x1b[B\x1b[A\r")
    terminal.wait_for("it needs no network")
    terminal.wait_for("stored in")
    assert terminal.leave() == 0
    assert config(home) == {"model": "offline"}
    change_config(home / "config.toml", {"model": "openai:m", "openai_api_key": KEY})
    again = Terminal("init")
    again.wait_for("openai:m")
    again.wait_for("…1234")
    again.wait_for("Which provider?")
    again.type("\x03")
    again.wait_for("Nothing was changed.")
    assert again.leave() == 130
    again.end()


def test_ctrl_c_at_the_hidden_key_leaves_nothing_behind(home: Path, terminal: Terminal) -> None:
    terminal.wait_for("Which provider?")
    terminal.type("\x1b[B\r")
    terminal.wait_for("Model:")
    terminal.type("\r")
    terminal.wait_for("Key (not shown):")
    terminal.type(f"{KEY}\x03")
    terminal.wait_for("Nothing was changed.")
    assert terminal.leave() == 130
    assert KEY not in terminal.screen
    assert not home.exists() or not list(home.iterdir())


# -- the file and the keyring ---------------------------------------------------------------


def test_a_change_keeps_what_else_stands_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('# mine\nmodel = "a"\nkeyring = true # old\n\n[other]\nmodel = "b"\n')
    change_config(path, {"model": 'x"\n\x7fé', "keyring": None})
    assert path.read_text().startswith("# mine\n")
    assert tomllib.loads(path.read_text()) == {"model": 'x"\n\x7fé', "other": {"model": "b"}}


def test_a_file_that_cannot_be_changed_by_lines_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    before = 'note = """\nmodel = 1\n"""\n'
    path.write_text(before)
    with pytest.raises(Misconfigured, match="cannot be changed for you"):
        change_config(path, {"model": "offline"})
    assert path.read_text() == before


class _MemoryKeyring(keyring.backend.KeyringBackend):
    """A real backend of the keyring package: this machine has no desktop whose ring to ask."""

    # a class property there
    priority = 1.0  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


def test_a_key_in_the_keyring_is_found_and_is_not_in_the_file(home: Path) -> None:
    earlier = keyring.get_keyring()
    keyring.set_keyring(_MemoryKeyring())
    try:
        assert store_key("openai_api_key", KEY, usable_keyring())
        change_config(home / "config.toml", {"model": "openai:m", "keyring": True})
        key = load_settings(parse([])).openai_api_key
        assert key is not None
        assert key.get_secret_value() == KEY
        assert not store_key("openai_api_key", None, usable_keyring())
        assert load_settings(parse([])).openai_api_key is None
    finally:
        keyring.set_keyring(earlier)


def test_a_keyring_that_keeps_nothing_is_none() -> None:
    earlier = keyring.get_keyring()
    from keyring.backends.fail import Keyring

    keyring.set_keyring(Keyring())
    try:
        assert usable_keyring() is None
        assert not store_key("openai_api_key", KEY, usable_keyring())
    finally:
        keyring.set_keyring(earlier)
