"""Keys while an answer is under way: stopping, taking back, typing ahead."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.base import PipeInput
from prompt_toolkit.output import DummyOutput

from dataagent_cli.commands import builtin_commands
from dataagent_cli.hitl import PromptInterrupted, TerminalHITLHandler
from dataagent_cli.input.completion import LineCompleter
from dataagent_cli.input.keyboard import Keyboard
from dataagent_cli.interrupts import Interrupts
from dataagent_core.config import SessionState
from dataagent_core.hitl import ActionRequest
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

CTRL_C, CTRL_L, ESC, SHIFT_TAB, UP = "\x03", "\x0c", "\x1b", "\x1b[Z", "\x1b[A"


class ErasedScreen(DummyOutput):
    """Counts how often everything was erased."""

    erased = 0

    def erase_screen(self) -> None:
        self.erased += 1


class KeyDriver:
    """A keyboard, and what is typed on it while an answer is under way."""

    def __init__(self, keys: PipeInput) -> None:
        self.keys, self.state, self.notes = keys, SessionState(), list[str]()
        self.screen = ErasedScreen()
        self.keyboard = Keyboard(
            InMemoryHistory(),
            LineCompleter(builtin_commands()),
            state=self.state,
            terminal_input=keys,
            terminal_output=self.screen,
        )

    async def answer(self, keys: str, is_over: Callable[[Interrupts], bool]) -> str:
        """Type while an answer is under way, until it is over; what is in the line then."""
        async with asyncio.timeout(WAIT_SECONDS):
            with (
                self.keyboard.listen_during_turn(self.notes.append) as listen_during_turn,
                Interrupts() as signals,
            ):
                assert listen_during_turn is not None
                self.keys.send_text(keys)
                while not is_over(signals):
                    await asyncio.sleep(0)
            return listen_during_turn.text_after("the message")


@pytest.fixture
async def driver(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[KeyDriver]:
    monkeypatch.setenv("TERM", "xterm-256color")
    with create_pipe_input() as keys:
        yield KeyDriver(keys)


@asynccontextmanager
async def bounded() -> AsyncGenerator[None]:
    async with asyncio.timeout(WAIT_SECONDS):
        yield


def is_stopped(signals: Interrupts) -> bool:
    return signals.is_interrupted


async def test_what_is_typed_meanwhile_is_in_the_next_prompt_and_is_sent(driver: KeyDriver) -> None:
    keys = f"next 问题{UP}\rand then{SHIFT_TAB}"
    left = await driver.answer(keys, lambda _: driver.state.mode == "auto")
    assert left == ""
    assert driver.notes == ["mode auto, from the next request on"]
    async with bounded():
        assert await driver.keyboard.read(left) == "next 问题"
        driver.keys.send_text("!\r")
        assert await driver.keyboard.read() == "and then!"


async def test_escape_stops_the_answer_and_takes_the_message_back(driver: KeyDriver) -> None:
    assert await driver.answer(ESC, is_stopped) == "the message"


async def test_ctrl_c_stops_the_answer_and_sends_nothing_unseen(driver: KeyDriver) -> None:
    assert await driver.answer(f"half a lind\x7fe\rx{CTRL_C}", is_stopped) == "half a line\nx"


@pytest.mark.parametrize("before", ["", CTRL_C])
async def test_ctrl_l_in_the_last_moment_of_an_answer_clears_the_screen_of_the_next_prompt(
    driver: KeyDriver, before: str
) -> None:
    left = await driver.answer(f"{before}{CTRL_L}half{SHIFT_TAB}", lambda _: bool(driver.notes))
    async with bounded():
        driver.keys.send_text(" a line\r")
        assert await driver.keyboard.read(left) == "half a line"
    assert driver.screen.erased == 1


async def test_escape_with_a_key_after_it_is_a_key(driver: KeyDriver) -> None:
    left = await driver.answer(f"a{ESC}\rb{SHIFT_TAB}", lambda _: bool(driver.notes))
    assert left == ""
    async with bounded():
        driver.keys.send_text("\r")
        assert await driver.keyboard.read() == "a\nb"


def handler_at(driver: KeyDriver, pause_seconds: float) -> TerminalHITLHandler:
    return TerminalHITLHandler(
        driver.state,
        is_interactive=True,
        terminal_input=driver.keys,
        terminal_output=DummyOutput(),
        pause_seconds=pause_seconds,
    )


async def test_lines_typed_before_the_answer_began_are_no_answers_to_its_questions(
    driver: KeyDriver,
) -> None:
    driver.keys.send_text("one\ry\r")
    async with bounded():
        assert await driver.keyboard.read() == "one"
    handler = handler_at(driver, 0)
    async with bounded():
        with driver.keyboard.listen_during_turn(driver.notes.append):
            asked = asyncio.create_task(handler.request_approval(ActionRequest("shell", {}), "s"))
            await asyncio.sleep(0)
            driver.keys.send_text(ESC)
            assert (await asked).type == "reject"
        assert await driver.keyboard.read() == "y"


@requirement("R3.6")
async def test_what_is_typed_as_a_question_appears_is_in_the_line_and_answers_nothing(
    driver: KeyDriver,
) -> None:
    handler = handler_at(driver, 100 * WAIT_SECONDS)
    async with bounded():
        with driver.keyboard.listen_during_turn(driver.notes.append), Interrupts():
            for typed in ("show s", "ales", "\r"):
                asked = asyncio.create_task(handler.request_approval(ActionRequest("w", {}), "s"))
                await asyncio.sleep(0)
                driver.keys.send_text(f"{typed}{CTRL_C}")
                with pytest.raises(PromptInterrupted):
                    await asked
        assert await driver.keyboard.read() == "show sales"
    assert (driver.state.mode, driver.state.approved_kinds) == ("manual", set())


async def test_a_terminal_without_single_keys_is_left_alone(
    driver: KeyDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with driver.keyboard.listen_during_turn(driver.notes.append) as listen_during_turn:
        assert listen_during_turn is None
