"""A program that the loading process runs behaves as one that Python starts."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.programs import programs, quick
from tests.waiting import WAIT_SECONDS

LAST_WORDS = """
import atexit, sys, threading, time
atexit.register(print, "at the end")
threading.Thread(target=lambda: (time.sleep(0.1), print("a thread"))).start()
sys.exit(int(sys.argv[1]))
"""
ASLEEP = """
import os, sys, time
try:
    print(os.getpid(), flush=True)
    time.sleep(3600)
except KeyboardInterrupt:
    sys.exit("woken")
"""
KILLS_ITSELF = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


def start(code: str, *words: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [quick("python"), "-c", code, *words]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def ended(code: str, *words: str) -> tuple[int, str, str]:
    with start(code, *words) as program:
        out, err = program.communicate(timeout=WAIT_SECONDS)
    return program.returncode, out, err


def test_it_has_its_streams_arguments_folder_and_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIVEN", "here")
    code = "import os, sys; print(sys.argv, os.getcwd(), os.environ['GIVEN'], sys.stdin.read())"
    assert ended(code, "a b") == (0, f"['-c', 'a b'] {tmp_path} here \n", "")


def test_it_ends_as_a_program_does() -> None:
    assert ended(LAST_WORDS, "3") == (3, "a thread\nat the end\n", "")
    code, out, err = ended("1 / 0")
    assert (code, out) == (1, "")
    assert err.endswith("ZeroDivisionError: division by zero\n")
    assert ended(KILLS_ITSELF)[0] == -signal.SIGKILL


def test_a_signal_to_its_caller_is_one_to_it() -> None:
    with start(ASLEEP) as program:
        assert program.stdout is not None
        assert int(program.stdout.readline()) != program.pid
        program.send_signal(signal.SIGINT)
        assert program.communicate(timeout=WAIT_SECONDS) == ("", "woken\n")
    assert program.returncode == 1


def test_it_is_killed_with_its_caller() -> None:
    with start(ASLEEP) as program:
        assert program.stdout is not None
        process = psutil.Process(int(program.stdout.readline()))
        program.kill()
        assert program.stdout.read() == ""  # until no process is left to write
    process.wait(WAIT_SECONDS)


def test_one_that_is_started_is_waited_for_and_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    words = ["python", "-c"]
    assert programs().start([*words, "print(1)"], env=os.environ, log=log).wait() == 0
    assert log.read_text() == "1\n"
    sleeping = programs().start([*words, ASLEEP], env=os.environ, log=log)
    assert sleeping.is_alive
    sleeping.kill()
    assert not sleeping.is_alive
    assert sleeping.wait() == -signal.SIGKILL
