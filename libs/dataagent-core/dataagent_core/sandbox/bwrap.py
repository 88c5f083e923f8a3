"""The bubblewrap wall: a fork server inside it, from which every session is forked.

bubblewrap builds the outer wall once: no network, no environment, an ordinary user even if we are
root. Programs and libraries are visible read-only, of `/etc` a few harmless files, and nothing of
the host is writable but a project. Each session then has namespaces of its own inside. As root the
command first gives root up (`runner/drop.py`).
"""

from __future__ import annotations

import array
import asyncio
import json
import logging
import os
import shutil
import signal
import socket
import struct
import sys
import sysconfig
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

from dataagent_core.errors import SandboxGone, SandboxUnavailable
from dataagent_core.sandbox.cgroups import Cgroup, Cgroups
from dataagent_core.sandbox.channel import FrameStream
from dataagent_core.sandbox.local import process_folder
from dataagent_core.sandbox.runner.frames import Frame
from dataagent_core.sandbox.types import IN_PLACE, SandboxHome, SandboxLimits

USER = 65533
"""Whom a root server becomes to start bubblewrap; owns nothing."""

_INSIDE_USER = "1000"
_RUNNER = Path(__file__).parent / "runner"
_SYSTEM_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_HARMLESS = (
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/fonts",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/alternatives",
)
_PASSWD = f"sandbox:x:{_INSIDE_USER}:{_INSIDE_USER}::/tmp:/bin/sh\n"
_GROUP = f"sandbox:x:{_INSIDE_USER}:\n"
_RUN_BY_GIT = ("config", "hooks")
"""What in a repository says which programs Git starts, outside of the wall as well."""

_ENTRY = (
    "import sys; sys.path[:0] = ['/opt/dataagent', '/opt/site']; "
    "from runner.__main__ import main; main()"
)


class BwrapCommand:
    """Builds the command line; writes two small files to `stage`."""

    def __init__(
        self,
        program: str,
        stage: Path,
        workspaces: Path | None,
        packages: Path | None,
        project: Path | None = None,
    ) -> None:
        """With a `project` every session works in that folder itself."""
        self._project = project
        self._program = program
        self._stage = stage
        self._workspaces = workspaces
        self._packages = packages or Path(sysconfig.get_path("purelib"))
        self._python = Path(os.path.realpath(sys.executable))
        self._is_root = os.geteuid() == 0

    def arguments(self) -> list[str]:
        """Return the program and its arguments."""
        files = self._stage / "files"
        files.mkdir()
        files.chmod(0o755)  # bubblewrap's user reads it, whatever our umask is
        for name, content in (("passwd", _PASSWD), ("group", _GROUP)):
            (files / name).write_text(content)
            (files / name).chmod(0o644)
        places = {"files": files, "site": self._packages, "runner": _RUNNER}
        if not self._python.is_relative_to("/usr"):
            places["python"] = Path(sys.base_prefix)
        if not self._is_root:
            return self._bwrap(places, self._workspaces, self._project)
        stage = self._stage / "root"
        stage.mkdir()
        staged = {name: stage / name for name in places}
        order = {
            "user": USER,
            "stage": str(stage),
            "places": {name: str(place.resolve()) for name, place in places.items()},
            "workspaces": str(self._workspaces.resolve()) if self._workspaces else None,
            "project": str(self._project.resolve()) if self._project else None,
            "command": self._bwrap(
                staged,
                stage / "workspaces" if self._workspaces else None,
                stage / "project" if self._project else None,
            ),
        }
        entry = f"import sys; sys.path.append({str(_RUNNER.parent)!r}); "
        entry += "from runner.drop import main; main()"
        return [str(self._python), "-I", "-S", "-B", "-c", entry, json.dumps(order)]

    def _bwrap(
        self, places: dict[str, Path], workspaces: Path | None, project: Path | None
    ) -> list[str]:
        arguments = [self._program, "--unshare-all", "--unshare-user", "--new-session"]
        arguments += ["--as-pid-1", "--hostname", "sandbox", "--clearenv"]
        arguments += ["--uid", _INSIDE_USER, "--gid", _INSIDE_USER]
        arguments += _system_folders()
        for path in _HARMLESS:
            arguments += ["--ro-bind-try", path, path]
        arguments += ["--ro-bind", str(places["files"] / "passwd"), "/etc/passwd"]
        arguments += ["--ro-bind", str(places["files"] / "group"), "/etc/group"]
        arguments += ["--ro-bind", str(places["site"]), "/opt/site"]
        arguments += ["--ro-bind", str(places["runner"]), "/opt/dataagent/runner"]
        if "python" in places:
            arguments += ["--ro-bind", str(places["python"]), sys.base_prefix]
        arguments += ["--symlink", str(self._python), "/opt/bin/python3"]
        arguments += ["--proc", "/proc", "--dev", "/dev", "--size", "16777216"]
        arguments += ["--tmpfs", "/tmp"]  # noqa: S108 inside the sandbox
        arguments += ["--dir", "/run/upper"]
        if project is None:
            arguments += ["--dir", "/workspace", "--symlink", "workspace/output", "/output"]
        else:
            arguments += ["--bind", str(project), "/workspace", "--dir", "/output"]
            arguments += self._sealed_git(project)
        if workspaces is not None:
            arguments += ["--ro-bind-try", str(workspaces), "/run/workspaces"]
        arguments += ["--remount-ro", "/", "--remount-ro", "/dev"]
        return [*arguments, "--", str(self._python), "-I", "-S", "-B", "-c", _ENTRY, "fork"]

    def _sealed_git(self, project: Path) -> list[str]:
        """Let code use the project's repository, but not change what Git runs for its owner.

        The repository is mounted upon itself: what is mounted cannot be moved away and made anew.
        """
        assert self._project is not None  # noqa: S101 there is one
        repository = self._project / ".git"
        if repository.is_symlink() or not repository.is_dir():
            return []
        arguments = ["--bind", str(project / ".git"), "/workspace/.git"]
        for name in _RUN_BY_GIT:
            if (repository / name).exists():
                place = f".git/{name}"
                arguments += ["--ro-bind", str(project / place), f"/workspace/{place}"]
        return arguments


def _system_folders() -> list[str]:
    arguments = ["--ro-bind", "/usr", "/usr"]
    for path in map(Path, _SYSTEM_FOLDERS):
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), str(path)]
    return arguments


logger = logging.getLogger(__name__)

T = TypeVar("T")

_START_SECONDS = 60.0
_SESSION_SECONDS = 10.0
_STAGE = "dataagent-wall-"
_CREDENTIALS = struct.Struct("3i")
INSTALL = "Install it with: apt-get install bubblewrap (as root)."


class BwrapWall:
    """Starts sessions behind bubblewrap. The fork server starts with the first one."""

    name = "bwrap"

    def __init__(
        self,
        *,
        workspaces: Path | None = None,
        packages: Path | None = None,
        project: Path | None = None,
    ) -> None:
        """Workspaces are below `workspaces`; code can import from `packages`.

        With a `project` that folder, itself, is the workspace of all sessions.
        """
        self._project = project
        self._workspaces = workspaces
        self._packages = packages
        self._cgroups = Cgroups()
        self._server: _ForkServer | None = None
        self._processes: WeakSet[BwrapProcess] = WeakSet()
        self._starting = asyncio.Lock()

    async def start(self, home: SandboxHome, limits: SandboxLimits) -> BwrapProcess:
        """See `Wall.start`."""
        stream, pid = await self._fork()
        try:
            process = BwrapProcess(stream, pid)
        except ProcessLookupError as error:
            stream.close()
            raise SandboxUnavailable("The sandbox ended before it began.") from error
        self._processes.add(process)
        try:
            hello = await _within(stream.receive(), _SESSION_SECONDS)
            if hello.op != "hello":
                raise SandboxUnavailable(f"The sandbox did not start: {hello.fields.get('reason')}")
            process.cgroup = await asyncio.to_thread(
                self._cgroups.make, home.sandbox_id, pid, limits
            )
        except BaseException:
            await process.kill()
            raise
        return process

    def place_of(self, workspace: Path) -> str | None:
        """See `Wall.place_of`."""
        if self._project is not None and workspace.resolve() == self._project.resolve():
            return IN_PLACE
        if self._workspaces is None or self._server is None or not self._server.has_workspaces:
            return None
        try:
            place = workspace.resolve().relative_to(self._workspaces.resolve())
        except ValueError:
            return None
        return str(place) if place.parts else None

    async def aclose(self) -> None:
        """See `Wall.aclose`."""
        await asyncio.gather(*(process.kill() for process in list(self._processes)))
        async with self._starting:
            if self._server is not None:
                await self._server.close()
                self._server = None
        await asyncio.to_thread(self._cgroups.close)

    async def _fork(self) -> tuple[FrameStream, int]:
        """Fork a session, from a new server if the current one has died."""
        server = await self._running(None)
        try:
            return await server.fork()
        except SandboxUnavailable:
            return await (await self._running(server)).fork()

    async def _running(self, dead: _ForkServer | None) -> _ForkServer:
        """Return the running server, not the one known to be dead."""
        async with self._starting:
            server = self._server
            if server is None or server is dead or not server.is_alive:
                self._server = None
                if server is not None:
                    await server.close()
                server = await _ForkServer.start(self._workspaces, self._packages, self._project)
                self._server = server
            return server


class BwrapProcess:
    """A session's process, held by a descriptor that no other process can inherit."""

    def __init__(self, stream: FrameStream, pid: int) -> None:
        self.pid = pid
        self.cgroup: Cgroup | None = None
        self._stream = stream
        self._descriptor: int | None = os.pidfd_open(pid)
        self._ending: asyncio.Task[None] | None = None

    @property
    def is_alive(self) -> bool:
        """See `WallProcess.is_alive`."""
        if self._descriptor is None:
            return False
        try:
            signal.pidfd_send_signal(self._descriptor, 0)
        except ProcessLookupError:
            return False
        return True

    @property
    def memory_kills(self) -> int:
        """Return how many processes the system killed for lack of memory."""
        return 0 if self.cgroup is None else self.cgroup.memory_kills()

    async def send(self, frame: Frame) -> None:
        """See `WallProcess.send`."""
        await self._stream.send(frame)

    async def receive(self) -> Frame:
        """See `WallProcess.receive`."""
        return await self._stream.receive()

    async def kill(self) -> None:
        """See `WallProcess.kill`."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(), name="sandbox-end")
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        """Kill it and wait for its end, even if the caller is cancelled."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        self._stream.close()
        with suppress(ProcessLookupError):  # it has ended by itself
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        await _readable(descriptor)
        os.close(descriptor)
        if self.cgroup is not None:
            await asyncio.to_thread(self.cgroup.remove)


class _ForkServer:
    """bubblewrap with the forking process inside."""

    def __init__(self, process: Process, control: socket.socket, stage: Path) -> None:
        self._process = process
        self._control = control
        self._stage = stage
        self._inner: int | None = None
        self.has_workspaces = False

    @classmethod
    async def start(
        cls, workspaces: Path | None, packages: Path | None, project: Path | None
    ) -> _ForkServer:
        """Start it and wait until it is ready.

        Raises:
            SandboxUnavailable: bubblewrap is missing, or may not build its walls here.
        """
        program = shutil.which("bwrap")
        if program is None:
            raise SandboxUnavailable(f"Code is not run: bubblewrap is not installed. {INSTALL}")
        stage = await asyncio.to_thread(_new_stage)
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        try:
            command = BwrapCommand(program, stage, workspaces, packages, project).arguments()
            process = await asyncio.create_subprocess_exec(
                *command, stdin=theirs.fileno(), stdout=DEVNULL, stderr=PIPE, env={}, cwd="/"
            )
        except (OSError, ValueError) as error:
            ours.close()
            shutil.rmtree(stage, ignore_errors=True)
            raise SandboxUnavailable("Code is not run: bubblewrap does not start.") from error
        finally:
            theirs.close()
        server = cls(process, ours, stage)
        try:
            await server._become_ready()
        except BaseException:
            await server.close()
            raise
        return server

    @property
    def is_alive(self) -> bool:
        """Whether it is running."""
        return self._process.returncode is None

    async def fork(self) -> tuple[FrameStream, int]:
        """Fork a session, and return its stream and process.

        Raises:
            SandboxUnavailable: the server does not answer.
        """
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        rights = array.array("i", [theirs.fileno()])
        try:
            self._control.sendmsg([b"s"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            theirs.close()
            pid = await _within(_sender_of(ours), _SESSION_SECONDS)
            reader, writer = await asyncio.open_unix_connection(sock=ours)
        except BaseException as error:
            ours.close()
            if isinstance(error, OSError | SandboxGone):
                raise SandboxUnavailable("The sandbox's server does not answer.") from error
            raise
        finally:
            theirs.close()
        return FrameStream(reader, writer), pid

    async def close(self) -> None:
        """End it and every session."""
        self._control.close()
        if self._inner is not None:  # the first process inside: all others end with it
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._inner, signal.SIGKILL)
            await _readable(self._inner)
            os.close(self._inner)
            self._inner = None
        if self._process.returncode is None:
            with suppress(ProcessLookupError):  # it ends by itself when what it started has ended
                self._process.kill()
        await self._process.wait()
        await asyncio.to_thread(shutil.rmtree, self._stage, ignore_errors=True)

    async def _become_ready(self) -> None:
        line = await _within(self._first_line(), _START_SECONDS)
        if not line:
            complaint = await self._complaint()
            raise SandboxUnavailable(f"Code is not run: bubblewrap says: {complaint}")
        message = json.loads(line)
        self.has_workspaces = bool(message["workspaces"])
        if message["missing"]:
            names = ", ".join(message["missing"])
            logger.warning("The sandbox lacks packages: %s", names)

    async def _first_line(self) -> bytes:
        loop, line = asyncio.get_running_loop(), b""
        with suppress(SandboxGone, ConnectionError, ProcessLookupError):  # then there is no line
            self._inner = os.pidfd_open(await _sender_of(self._control))
        while not line.endswith(b"\n"):
            try:
                chunk = await loop.sock_recv(self._control, 4096)
            except ConnectionError:
                return b""
            if not chunk:
                return b""
            line += chunk
        return line

    async def _complaint(self) -> str:
        assert self._process.stderr is not None  # noqa: S101 - it was asked for
        with suppress(TimeoutError):
            async with asyncio.timeout(2):
                text = (await self._process.stderr.read(2000)).decode(errors="replace").strip()
                return text.splitlines()[-1] if text else "nothing"
        return "nothing"


def _new_stage() -> Path:
    """Create a directory that bubblewrap's user can read."""
    stage = process_folder(_STAGE)
    stage.chmod(0o755)
    return stage


async def _sender_of(connection: socket.socket) -> int:
    """Return the process, by our numbering, that sent the waiting data, without reading it."""
    await _readable(connection.fileno())
    space = socket.CMSG_SPACE(_CREDENTIALS.size)
    content, ancillary, _, _ = connection.recvmsg(1, space, socket.MSG_PEEK)
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS and content:
            return _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0]
    raise SandboxGone("The sandbox ended before it began.")


async def _readable(descriptor: int) -> None:
    """Wait until there is something to read."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


async def _within(work: Coroutine[Any, Any, T], seconds: float) -> T:  # Any: asyncio's own
    try:
        return await asyncio.wait_for(work, seconds)
    except TimeoutError as error:
        raise SandboxUnavailable(f"The sandbox did not answer within {seconds:.0f} s.") from error
