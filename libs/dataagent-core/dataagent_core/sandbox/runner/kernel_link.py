"""The session's end of a kernel: starts it, sends cells, receives reports.

A kernel is believed only about itself: reports are bounded and carry the number of their cell, and
their sender is the one the system names, not the one the report claims.
"""

from __future__ import annotations

import array
import json
import os
import select
import socket
import struct
import time
from dataclasses import dataclass
from typing import Any

from . import kernel, processes, walls
from .limits import RunLimits

_LENGTH = struct.Struct(">I")
_REPORT_LIMIT = 65536
_START_SECONDS = 5.0
"""How long a kernel may take to begin a cell."""

_MOST_A_CELL = 4 * _REPORT_LIMIT
"""Who says more than this about one cell has no report in mind."""

_CREDENTIALS = struct.Struct("3i")


class KernelLost(Exception):
    """The kernel is gone, or violates the protocol."""


@dataclass(frozen=True)
class Report:
    """A kernel's report of a cell, and the process that sent it."""

    cell: int
    event: str
    pid: int
    fields: dict[str, Any]


class KernelLink:
    """A kernel and the channel to it."""

    def __init__(self, limits: RunLimits) -> None:
        self.channel, theirs = socket.socketpair()
        self.channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._buffer = bytearray()
        self._cells = 0
        self._heard = 0
        self._later: list[Report] = []
        self._ended = 0
        self.pid = os.fork()
        if self.pid == 0:
            _become_kernel(theirs, limits)
        theirs.close()
        self.channel.setblocking(False)

    def submit(self, code: bytes, stdout: int, stderr: int) -> Report:
        """Send a cell, and return its process's first report.

        Raises:
            KernelLost: it cannot be sent, or there is no report.
        """
        self._cells += 1
        self._heard = 0
        processes.resume(self.pid)
        self._send(struct.pack(">II", self._cells, len(code)), code, [stdout, stderr])
        patience = time.monotonic() + _START_SECONDS
        while (left := patience - time.monotonic()) > 0:
            select.select([self.channel], [], [], left)
            reports = self.reports()
            for place, report in enumerate(reports):
                if report.cell == self._cells and report.event == "started":
                    self._later = reports[place + 1 :]
                    return report
        raise KernelLost

    def _send(self, prefix: bytes, code: bytes, streams: list[int]) -> None:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams))]
        try:
            self.channel.settimeout(_START_SECONDS)
            self.channel.sendmsg([prefix], rights)
            self.channel.sendall(code)
        except OSError as error:
            raise KernelLost from error
        finally:
            self.channel.setblocking(False)

    def reports(self) -> list[Report]:
        """Return new reports, or a part of them: the caller has other work.

        Raises:
            KernelLost: it has closed the channel, or said something that is no report.
        """
        if self._later:
            later, self._later = self._later, []
            return later
        received = self._receive()
        if received is None:
            return []
        chunk, pid = received
        self._heard += len(chunk)
        if not chunk or self._heard > _MOST_A_CELL:
            raise KernelLost
        self._buffer += chunk
        return self._complete(pid)

    def _receive(self) -> tuple[bytes, int] | None:
        space = socket.CMSG_SPACE(_CREDENTIALS.size)
        try:
            chunk, ancillary, _, _ = self.channel.recvmsg(_REPORT_LIMIT, space)
        except BlockingIOError:
            return None
        except OSError as error:
            raise KernelLost from error
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                return chunk, _CREDENTIALS.unpack(content[: _CREDENTIALS.size])[0]
        return chunk, 0

    def _complete(self, pid: int) -> list[Report]:
        found: list[Report] = []
        while len(self._buffer) >= _LENGTH.size:
            (size,) = _LENGTH.unpack(self._buffer[: _LENGTH.size])
            if size > _REPORT_LIMIT:
                raise KernelLost
            end = _LENGTH.size + size
            if len(self._buffer) < end:
                break
            found.append(_report(bytes(self._buffer[_LENGTH.size : end]), pid))
            del self._buffer[:end]
        return found

    def follow(self, pid: int) -> None:
        """Take the cell's process as the kernel; the previous one is no longer needed."""
        if pid != self.pid and pid > 1:
            processes.end(self.pid)
            self._ended, self.pid = self.pid, pid

    def pause(self) -> None:
        """Stop the user's processes until the next cell."""
        processes.pause(self.pid)

    def spared(self) -> frozenset[int]:
        """Return the processes not to be killed: the kernel, and the previous one."""
        return frozenset({self.pid, self._ended})

    def close(self) -> None:
        """End the kernel."""
        processes.end(self.pid)
        self.channel.close()


def _report(content: bytes, pid: int) -> Report:
    try:
        fields = json.loads(content)
        return Report(int(fields["cell"]), str(fields["event"]), pid, fields)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise KernelLost from error


def _become_kernel(channel: socket.socket, limits: RunLimits) -> None:
    """Never returns."""
    try:
        os.setsid()
        processes.restore_signals()
        nothing = os.open(os.devnull, os.O_RDWR)
        for place in (0, 1, 2):
            os.dup2(nothing, place)
        os.chdir(kernel.WORKSPACE)
        walls.build_or_exit(limits, {channel.fileno()})
        kernel.serve(channel)
    finally:
        os._exit(walls.BROKEN)
