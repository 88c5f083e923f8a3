"""A wall of Docker: one container is one session, never handed to another user.

The container runs our runner as its first process and nothing else; it is told what to do in
frames over its own streams, so no port, no shared socket and no `docker exec` is needed and the
engine may be on another machine. Its files live in memory and die with it. When this process dies,
however it dies, the container reads the end of its input and goes. Above: `pool.py`, `session.py`.
Below: `docker_client.py`, `docker_container.py`, `frames.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from dataagent_core.errors import SandboxGone, SandboxUnavailable
from dataagent_core.sandbox.docker_client import DockerClient
from dataagent_core.sandbox.docker_container import container_spec
from dataagent_core.sandbox.frames import BadFrame, Frame, FrameBuffer, encode
from dataagent_core.sandbox.types import SandboxHome, SandboxLimits

logger = logging.getLogger(__name__)
_STDOUT, _STDERR = 1, 2
_HELLO_SECONDS: Final = 60.0
_MOST_SAID: Final = 4096
_GROUPS: Final = (
    "/sys/fs/cgroup/memory/docker/{}/memory.oom_control",
    "/sys/fs/cgroup/docker/{}/memory.events",
    "/sys/fs/cgroup/system.slice/docker-{}.scope/memory.events",
)
"""Where engines keep a container's count, by generation and driver."""


class DockerWall:
    """Containers of one image on one engine."""

    name = "docker"

    def __init__(
        self,
        image: str,
        *,
        url: str | None = None,
        runtime: str | None = None,
        binds: Mapping[str, str] | None = None,
        profile: str | None = None,
    ) -> None:
        """`runtime` is the engine's name of another one (`runsc`); `binds` are read-only places of
        the engine's machine, for images without packages; `profile` replaces our system calls.
        """
        self._image = image
        self._runtime = runtime
        self._binds = dict(binds or {})
        self._profile = profile
        self._client = DockerClient(url)
        self._alive: set[DockerProcess] = set()

    async def check(self) -> str:
        """The engine's version, if a container could be started.

        Raises:
            SandboxUnavailable: it could not; the message says why and what to do.
        """
        version = await self._client.version()
        if not await self._client.has_image(self._image):
            raise SandboxUnavailable(
                f"The Docker engine has no image {self._image!r}. Build it: docker build -t "
                f"{self._image} -f infra/sandbox/Dockerfile ."
            )
        return version

    async def start(self, home: SandboxHome, limits: SandboxLimits) -> DockerProcess:
        """As `Wall.start`."""
        container = container_spec(
            self._image,
            limits,
            home.sandbox_id,
            binds=self._binds,
            runtime=self._runtime,
            profile=self._profile,
        )
        container_id = await self._client.create(container, f"dataagent-{uuid4().hex}")
        process = DockerProcess(self._client, container_id, self._alive)
        await process.begin()
        return process

    def place_of(self, workspace: Path) -> str | None:
        """As `Wall.place_of`: the files are copied in, the engine need not see our disk."""
        return None

    async def aclose(self) -> None:
        """As `Wall.aclose`."""
        await asyncio.gather(*(process.kill() for process in list(self._alive)))
        await self._client.aclose()


class DockerProcess:
    """A runner in its container."""

    def __init__(self, client: DockerClient, container_id: str, alive: set[DockerProcess]) -> None:
        self._client = client
        self._container_id = container_id
        self._alive = alive
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._said = bytearray()
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._removing: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Attach, start, and wait for the runner's first word; without it nothing is left.

        Raises:
            SandboxUnavailable: it did not come.
        """
        try:
            reader, self._writer = await self._client.attach(self._container_id)
            self._alive.add(self)
            self._reading = asyncio.create_task(self._read(reader), name="docker-frames")
            await self._client.start(self._container_id)
            async with asyncio.timeout(_HELLO_SECONDS):
                hello = await self._frames.get()
        except BaseException as error:
            await self.kill()
            if isinstance(error, TimeoutError):
                raise SandboxUnavailable("The sandbox's container does not answer.") from error
            raise
        if hello is None or hello.op != "hello":
            await self.kill()
            said = self._said.decode(errors="replace").strip()
            raise SandboxUnavailable(f"The sandbox's container ended at once. {said}".strip())

    @property
    def is_alive(self) -> bool:
        """As `WallProcess.is_alive`."""
        return self._reading is not None and not self._reading.done()

    @property
    def memory_kills(self) -> int:
        """How many processes the engine's machine ended for want of memory, if it is ours."""
        for place in _GROUPS:
            with suppress(OSError):
                text = Path(place.format(self._container_id)).read_text()
                return next(int(n) for k, n in map(str.split, text.splitlines()) if k == "oom_kill")
        return 0

    async def send(self, frame: Frame) -> None:
        """As `WallProcess.send`."""
        writer = self._writer
        if writer is None or not self.is_alive:
            raise SandboxGone("The sandbox has ended.")
        try:
            writer.write(encode(frame))
            await writer.drain()
        except OSError as error:
            raise SandboxGone("The sandbox has ended.") from error

    async def receive(self) -> Frame:
        """As `WallProcess.receive`."""
        frame = await self._frames.get()
        if frame is None:
            self._frames.put_nowait(None)  # for whoever asks again
            raise SandboxGone("The sandbox has ended.")
        return frame

    async def kill(self) -> None:
        """As `WallProcess.kill`."""
        if self._removing is None:
            self._removing = asyncio.create_task(self._remove(), name="docker-remove")
        await asyncio.shield(self._removing)

    async def _remove(self) -> None:
        try:
            await self._client.remove(self._container_id)
        except SandboxUnavailable as error:  # it ends by itself: nobody is attached any more
            logger.warning("a container could not be removed: %s", error.message)
        finally:
            self._alive.discard(self)
            if self._reading is not None:
                self._reading.cancel()
                with suppress(asyncio.CancelledError):
                    await self._reading
            if self._writer is not None:
                self._writer.close()
                with suppress(OSError):
                    await self._writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        """Put frames together from what the container says, until it says no more."""
        buffer = FrameBuffer()
        try:
            while True:
                head = await reader.readexactly(8)
                chunk = await reader.readexactly(int.from_bytes(head[4:], "big"))
                if head[0] == _STDOUT:
                    for frame in buffer.add(chunk):
                        self._frames.put_nowait(frame)
                elif head[0] == _STDERR:
                    self._said += chunk
                    del self._said[:-_MOST_SAID]
        except (asyncio.IncompleteReadError, OSError, BadFrame):
            return
        finally:
            self._frames.put_nowait(None)
