"""The process that all sessions are forked from: what a fork of it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

FORKED = """
import os, re
from dataagent_core.sandbox.runner import zygote

missing = zygote.prepare()
asked, answered = os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    os.write(answered[1], b".")
    os.read(asked[0], 1)
    os._exit(0)
os.read(answered[0], 1)
with open(f"/proc/{pid}/smaps_rollup") as file:
    own = re.findall(r"^Private_Dirty:\\s*(\\d+) kB$", file.read(), re.MULTILINE)[0]
os.write(asked[1], b".")
os.waitpid(pid, 0)
os.write(1, f"{len(missing)} {own}".encode())
os._exit(0)
"""


@pytest.mark.slow
@requirement("R4.6")
def test_a_fork_shares_nearly_all_it_was_made_with() -> None:
    """Every session and every call is one: what each has for itself is paid for each of them."""
    ended = subprocess.run(
        [sys.executable, "-c", FORKED], check=True, capture_output=True, timeout=WAIT_SECONDS
    )
    missing, kilobytes = map(int, ended.stdout.split())
    assert missing == 0
    assert 0 < kilobytes < 2100
