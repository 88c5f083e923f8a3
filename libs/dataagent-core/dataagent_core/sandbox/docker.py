"""The Docker wall: one container is one session, never given to another user.

The container runs our runner as its first process and nothing else, and takes frames over its own
streams: no port, no shared socket and no `docker exec`, and the engine may be on another machine.
Its files are in memory and end with it. When this process dies, the container reads the end of its
input and exits.

docker-py (on `requests`) blocks, so it runs in threads of ours; a container's streams are read
directly from the engine's socket, since docker-py would return a blocking file.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from dataagent_core.config.settings import environment
from dataagent_core.errors import SandboxGone, SandboxUnavailable
from dataagent_core.sandbox.docker_container import container_spec
from dataagent_core.sandbox.runner.frames import BadFrame, Frame, FrameBuffer, encode
from dataagent_core.sandbox.types import SandboxHome, SandboxLimits

T = TypeVar("T")
_SECONDS: Final = 30
_WORKERS: Final = 8
_HEAD_LIMIT: Final = 64 * 1024
_BREAKS: Final = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
_HERE: Final = "unix:///var/run/docker.sock"


class DockerClient:
    """A connection to one engine. Close it."""

    def __init__(self, url: str | None = None) -> None:
        """Use the engine at `url`, else `DOCKER_HOST`, else this machine's."""
        self._url = url
        self._docker: Any = None  # docker-py is untyped
        self._threads = ThreadPoolExecutor(_WORKERS, thread_name_prefix="docker")

    async def version(self) -> str:
        """Return the engine's version.

        Raises:
            SandboxUnavailable: it does not answer, or docker-py is not installed.
        """
        found = await self._call(lambda api: api.version())
        return str(found["Version"])

    async def has_image(self, name: str) -> bool:
        """Whether the engine has the image. Raises as `version`."""
        return bool(await self._call(lambda api: api.images(name=name)))

    async def create(self, container: dict[str, Any], name: str) -> str:
        """Create a container without starting it, and return its id. Raises as `version`."""
        try:
            found = await self._call(lambda api: api.create_container_from_config(container, name))
        except asyncio.CancelledError:  # it may have been made all the same
            await self.remove(name)
            raise
        return str(found["Id"])

    async def start(self, container_id: str) -> None:
        """Start a container. Raises as `version`."""
        await self._call(lambda api: api.start(container_id))

    async def remove(self, container_id: str) -> None:
        """Kill and remove a container, and wait until it is gone."""
        await self._call(partial(_remove_container, container_id))

    async def labelled(self, label: str) -> list[str]:
        """Return the containers with the label, running or not."""
        found = await self._call(lambda api: api.containers(all=True, filters={"label": label}))
        return [str(each["Id"]) for each in found]

    async def attach(self, container_id: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return the container's streams: writes go to its stdin; `demultiplexed` reads.

        Raises:
            SandboxUnavailable: the engine does not let us.
        """
        base, version = await self._call(_address)
        reader, writer = await _open_stream(base)
        path = f"/v{version}/containers/{container_id}/attach?stream=1&stdin=1&stdout=1&stderr=1"
        try:
            async with asyncio.timeout(_SECONDS):
                writer.write(
                    f"POST {path} HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\n"
                    "Upgrade: tcp\r\nContent-Length: 0\r\n\r\n".encode()
                )
                head = await reader.readuntil(b"\r\n\r\n")
            if head.split(b" ", 2)[1] not in (b"101", b"200"):
                said = head.splitlines()[0].decode("latin-1")
                raise SandboxUnavailable(f"The Docker engine did not attach us: {said}")
        except BaseException as error:
            writer.close()
            if isinstance(error, _BREAKS):
                raise SandboxUnavailable("The Docker engine did not attach us.") from error
            raise
        return reader, writer

    async def aclose(self) -> None:
        """Close the connections to the engine."""
        if self._docker is not None:
            docker, self._docker = self._docker, None
            await asyncio.get_running_loop().run_in_executor(self._threads, docker.close)
        self._threads.shutdown(wait=False)

    async def _call(self, work: Callable[[Any], T]) -> T:
        """Call in a thread. A cancelled caller waits for the end: the call has an effect."""
        loop = asyncio.get_running_loop()
        task = loop.run_in_executor(self._threads, partial(self._blocking, work))
        is_cancelled = False
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                is_cancelled = True
        if is_cancelled:
            task.exception()  # retrieved, so that asyncio does not log it
            raise asyncio.CancelledError
        return task.result()

    def _blocking(self, work: Callable[[Any], T]) -> T:
        try:
            import docker
            from docker.errors import DockerException
            from requests.exceptions import RequestException
        except ImportError as error:
            raise SandboxUnavailable(
                "The docker package is not installed: pip install 'dataagent-core[docker]'."
            ) from error
        try:
            if self._docker is None:
                self._docker = _open_client(docker, self._url)
            return work(self._docker.api)
        except (DockerException, RequestException, OSError) as error:
            raise SandboxUnavailable(f"The Docker engine: {_reason(error)}") from error


def _open_client(docker: Any, url: str | None) -> Any:
    """Open a client. A connection is tested first: docker-py leaks sockets that fail."""
    chosen = url or environment().get("DOCKER_HOST") or _HERE
    if chosen.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(chosen.removeprefix("unix://"))
    if url is not None:
        return docker.DockerClient(base_url=url, timeout=_SECONDS)
    return docker.from_env(timeout=_SECONDS)


def _address(api: Any) -> tuple[Any, str]:
    """Return the engine's address: a path, or host, port and TLS context."""
    version = str(api.api_version)
    path = getattr(api.get_adapter(api.base_url), "socket_path", None)
    if path is not None:
        return str(path), version
    parts = urlsplit(str(api.base_url))
    return (parts.hostname, parts.port or 2375, _tls(api) if parts.scheme == "https" else None), (
        version
    )


def _tls(api: Any) -> ssl.SSLContext:
    """Return the client's own certificates as a context for asyncio."""
    verify = api.verify
    context = ssl.create_default_context(cafile=verify if isinstance(verify, str) else None)
    if api.cert:
        context.load_cert_chain(*api.cert)
    return context


async def _open_stream(address: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        if isinstance(address, str):
            return await asyncio.open_unix_connection(address, limit=_HEAD_LIMIT)
        host, port, tls = address
        return await asyncio.open_connection(host, port, ssl=tls, limit=_HEAD_LIMIT)
    except OSError as error:
        raise SandboxUnavailable("The Docker engine does not answer.") from error


def _remove_container(container_id: str, api: Any) -> None:
    """Kill, then wait until the engine has removed it. A missing container is fine."""
    from docker.errors import APIError

    with suppress(APIError):
        api.kill(container_id)
    with suppress(APIError):
        api.remove_container(container_id, force=True, v=True)
    with suppress(APIError):
        api.wait(container_id, timeout=_SECONDS, condition="removed")


def _reason(error: BaseException) -> str:
    """Return the engine's message on one line, without addresses of ours."""
    if isinstance(error, FileNotFoundError | ConnectionRefusedError):
        return "it does not run here. Start it, or set DATAAGENT_SANDBOX_DOCKER_URL."
    said = getattr(error, "explanation", None) or type(error).__name__
    return str(said).strip().splitlines()[0][:300]


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
    """Starts containers of one image on one engine."""

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
        """Return the engine's version, if a container could be started.

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
        """See `Wall.start`."""
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
        """See `Wall.place_of`: files are copied, since the engine may not share our disk."""
        return None

    async def aclose(self) -> None:
        """See `Wall.aclose`."""
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
        """Attach, start, and wait for the runner's first frame; on failure remove everything.

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
        """See `WallProcess.is_alive`."""
        return self._reading is not None and not self._reading.done()

    @property
    def memory_kills(self) -> int:
        """Return how many processes were killed for lack of memory, if the engine is on this
        machine.
        """
        for place in _GROUPS:
            with suppress(OSError):
                text = Path(place.format(self._container_id)).read_text()
                return next(int(n) for k, n in map(str.split, text.splitlines()) if k == "oom_kill")
        return 0

    async def send(self, frame: Frame) -> None:
        """See `WallProcess.send`."""
        writer = self._writer
        if writer is None or not self.is_alive:
            raise SandboxGone("The sandbox has ended.")
        try:
            writer.write(encode(frame))
            await writer.drain()
        except OSError as error:
            raise SandboxGone("The sandbox has ended.") from error

    async def receive(self) -> Frame:
        """See `WallProcess.receive`."""
        frame = await self._frames.get()
        if frame is None:
            self._frames.put_nowait(None)  # for later calls
            raise SandboxGone("The sandbox has ended.")
        return frame

    async def kill(self) -> None:
        """See `WallProcess.kill`."""
        if self._removing is None:
            self._removing = asyncio.create_task(self._remove(), name="docker-remove")
        await asyncio.shield(self._removing)

    async def _remove(self) -> None:
        try:
            await self._client.remove(self._container_id)
        except SandboxUnavailable as error:  # it exits by itself, since no client is attached
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
        """Read frames from the container until its output ends."""
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
