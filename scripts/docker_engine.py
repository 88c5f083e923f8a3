"""A Docker engine with a sandbox image, shared by tests and benchmarks.

A running engine is used; otherwise `dockerd` is started on a socket of its own, without a bridge
and without firewall rules (as root, it is installed from Debian's package first). A keeper process
owns what was started. Each user holds a file lock while it works; when the last lock is released,
even by a crash, the keeper removes everything again. Use it as

    with engine() as found: DockerWall(found.image, url=found.url, binds=found.binds)

`make test-all` runs `python -m scripts.docker_engine install` first, so that no test waits for it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, cast

import docker
from docker.errors import DockerException

from scripts.docker_image import write_base
from scripts.services import CannotStart, run
from scripts.tree import ROOT

_START_SECONDS = 120.0
_STOP_SECONDS = 15.0
_POLL_SECONDS = 0.05
_RUNNER = ROOT / "libs/dataagent-core/dataagent_core/sandbox/runner"
_OPTIONS = (
    "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
    "--bridge=none",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Engine:
    """Where the engine is, the image's name, and what is bound into each container."""

    url: str
    image: str
    binds: dict[str, str]


@contextmanager
def engine() -> Generator[Engine]:
    """The engine; it runs as long as at least one process uses it.

    Raises:
        CannotStart: none is running and none can be started; the message says why.
    """
    place = Path(tempfile.gettempdir()) / f"dataagent-docker-{os.geteuid()}"
    with ExitStack() as stack:
        with _exclusive_lock(place):
            users = stack.enter_context((place / "users").open("w"))
            fcntl.flock(users, fcntl.LOCK_SH)
            found = _running_engine(place) or _start_engine(place)
        yield found


# -- the users' side --


def _exclusive_lock(place: Path) -> IO[str]:
    """Lock out other starts and ends of an engine until the file is closed."""
    while True:
        place.mkdir(mode=0o700, exist_ok=True)
        try:
            start = (place / "start").open("w")
        except FileNotFoundError:  # a keeper that ends removes the folder
            continue
        fcntl.flock(start, fcntl.LOCK_EX)
        if os.fstat(start.fileno()).st_nlink:
            return start
        start.close()


def _running_engine(place: Path) -> Engine | None:
    """The engine of a running keeper."""
    try:
        published = json.loads((place / "ready").read_text())
        os.kill(published.pop("keeper"), 0)
        return Engine(**published)
    except (OSError, ValueError, TypeError):
        return None


def _start_engine(place: Path) -> Engine:
    (place / "ready").unlink(missing_ok=True)
    with (place / "log").open("w") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "scripts.docker_engine", str(place)],
            cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            env={**os.environ, "HOME": str(place)},
        )  # fmt: skip
    deadline = time.monotonic() + _START_SECONDS
    while keeper.poll() is None and time.monotonic() < deadline:
        if (found := _running_engine(place)) is not None:
            keeper.returncode = 0  # it runs on its own; no one waits for it
            return found
        time.sleep(_POLL_SECONDS)
    output = (place / "log").read_text()[-2000:]
    raise CannotStart(f"No Docker engine for the tests: {output or 'it took too long'}")


# -- the keeper's side --


def keep(place: Path) -> None:
    """Start the engine, wait until its last user is gone, remove everything."""
    with (place / "start").open("w") as start:
        with ExitStack() as stack:
            url = _running_url() or stack.enter_context(_dockerd(place))
            image = stack.enter_context(_image(url, place))
            _publish(place, url, image)
            _wait_for_the_last(place, start.fileno())
            (place / "ready").unlink()
        shutil.rmtree(place, ignore_errors=True)


def _publish(place: Path, url: str, image: str) -> None:
    """Tell the users where the engine is."""
    site = sysconfig.get_path("platlib")
    found = Engine(url, image, {site: "/opt/site", str(_RUNNER): "/opt/runner"})
    (place / "ready.new").write_text(json.dumps({**asdict(found), "keeper": os.getpid()}))
    (place / "ready.new").rename(place / "ready")


def _wait_for_the_last(place: Path, start: int) -> None:
    """Return, with the start lock held, when no one holds the users' lock any more."""
    with (place / "users").open("w") as users:
        while True:
            fcntl.flock(users, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_UN)
            fcntl.flock(start, fcntl.LOCK_EX)
            with suppress(BlockingIOError):
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            fcntl.flock(start, fcntl.LOCK_UN)


def _running_url() -> str | None:
    """The default engine, if it answers; it must be this machine's, as folders are bound."""
    url = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    return url if _answers(url) else None


def _answers(url: str) -> bool:
    with suppress(DockerException, OSError), _client(url) as client:
        return bool(client.api.ping())
    return False


@contextmanager
def _client(url: str) -> Generator[Any]:
    """A client; its calls are untyped."""
    client = cast(Any, docker.DockerClient(base_url=url))
    try:
        yield client
    finally:
        client.close()


@contextmanager
def _dockerd(place: Path) -> Generator[str]:
    """An engine of our own below `place`."""
    # A folder of its own: one that was killed may have left mounts, which cannot be removed.
    home = Path(tempfile.mkdtemp(prefix="engine-", dir=place))
    url = f"unix://{home}/docker.sock"
    process = subprocess.Popen(
        [_program(), "--host", url, "--data-root", f"{home}/data", "--exec-root", f"{home}/exec",
         "--pidfile", f"{home}/pid", *_OPTIONS],
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(url):
            if process.poll() is not None or time.monotonic() > deadline:
                raise CannotStart("dockerd does not come up.")
            time.sleep(_POLL_SECONDS)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _unmount(home)


def _unmount(home: Path) -> None:
    """Unmount what an engine leaves mounted, or its folder could not be removed."""
    mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for place in sorted((each for each in mounted if home in Path(each).parents), reverse=True):
        subprocess.run(["umount", "--lazy", place], check=False)


def _program() -> str:
    places = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
    found = shutil.which("dockerd", path=places)
    if found is not None:
        return found
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise CannotStart(
            "No Docker engine answers and none can be installed here. Start one, or set "
            "DOCKER_HOST to one that runs on this machine."
        )
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    with suppress(CannotStart):  # an old list may still know the package
        run("apt-get", "update", "-qq")
    # the package's own service must not start: the engine is ours, for the tests only
    run("sh", "-c", "RUNLEVEL=1 apt-get install -y -qq --no-install-recommends docker.io")
    return _program()


@contextmanager
def _image(url: str, place: Path) -> Generator[str]:
    """The base image, imported under a name of its own."""
    name = f"dataagent-sandbox-tests:{os.getpid()}"
    tar = place / "base.tar"
    with _client(url) as client:
        try:
            write_base(tar)
            client.api.import_image_from_file(str(tar), *name.split(":"))
        finally:
            tar.unlink(missing_ok=True)
        try:
            yield name
        finally:
            client.api.remove_image(name, force=True)


def main() -> None:
    """`install`: make sure that an engine can start. Otherwise keep one in the named folder."""
    try:
        if sys.argv[1] != "install":
            keep(Path(sys.argv[1]))
        elif _running_url() is None:
            _program()
    except (CannotStart, DockerException, OSError) as problem:
        print(problem)
        sys.exit(1)


if __name__ == "__main__":
    main()
