"""Nothing of the host gets in: no file, no variable, no socket, no other process."""

from __future__ import annotations

import pytest

from tests.requirements import requirement

from .ground import Ground, attack

pytestmark = pytest.mark.asyncio(loop_scope="session")

READ = """
seen, there = [], []
path = FACTS["path"]
pids, links = ("1", "self", os.getppid()), ("root", "cwd")
roots = ["", *(f"/proc/{pid}/{link}" for pid in pids for link in links)]
for root in roots:
    try:
        seen.append(open(root + path).read())
    except OSError:
        pass
SKIPPED = ("/proc", "/sys", "/opt", "/usr", sys.base_prefix)
for folder, names, files in os.walk("/"):
    names[:] = [n for n in names if os.path.join(folder, n) not in SKIPPED]
    there += [f for f in files if f == os.path.basename(path)]
tell(seen=seen, there=there)
"""


@requirement("S10.3")
async def test_a_file_of_the_host_cannot_be_read(ground: Ground) -> None:
    assert ground.bait.path.read_text() == ground.bait.word
    seen = await attack(await ground.session(), READ, path=str(ground.bait.path))
    assert seen == {"seen": [], "there": []}


ENVIRONMENT = """
found = [f"{name}={value}" for name, value in os.environ.items()]
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    for name in ("environ", "cmdline", "auxv"):
        try:
            found.append(open(f"/proc/{pid}/{name}", "rb").read().decode("latin-1"))
        except OSError:
            pass
tell(found=found)
"""


@requirement("S10.3")
async def test_the_hosts_environment_is_not_in_any_process(ground: Ground) -> None:
    seen = await attack(await ground.session(), ENVIRONMENT)
    text = "\n".join(seen["found"])
    assert seen["found"]
    assert ground.bait.word not in text
    assert ground.bait.variable not in text


CONNECT = """
import socket
reached = []
def reach(name, family, address, kind=socket.SOCK_STREAM):
    try:
        with socket.socket(family, kind) as s:
            s.settimeout(1)
            s.connect(address)
            s.send(b"hello")
        reached.append(name)
    except OSError:
        pass
reach("tcp", socket.AF_INET, ("127.0.0.1", FACTS["port"]))
reach("tcp6", socket.AF_INET6, ("::ffff:127.0.0.1", FACTS["port"]))
reach("any", socket.AF_INET, ("0.0.0.0", FACTS["port"]))
reach("metadata", socket.AF_INET, ("169.254.169.254", 80))
reach("outside", socket.AF_INET, ("1.1.1.1", 53), socket.SOCK_DGRAM)
reach("abstract", socket.AF_UNIX, "\\0" + FACTS["abstract"])
reach("path", socket.AF_UNIX, FACTS["socket"])
try:
    reached.append(socket.getaddrinfo("example.com", 80)[0][0].name)
except OSError:
    pass
tell(reached=reached)
"""


@requirement("S2.4.1b", "S10.3")
async def test_no_socket_of_the_host_and_no_network_is_reached(ground: Ground) -> None:
    bait = ground.bait
    seen = await attack(
        await ground.session(),
        CONNECT,
        port=bait.port,
        abstract=bait.abstract,
        socket=str(bait.socket),
    )
    assert seen == {"reached": []}
    assert bait.heard == []


LOOK_AT_OTHERS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
opened = []
for name in ("mem", "environ", "fd/0", "fd/1", "fd/3", "fd/4", "root/etc/passwd", "cwd/x", "maps"):
    for way in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.close(os.open(f"/proc/1/{name}", way))
            opened.append(name)
        except OSError:
            pass
for pid in (int(p) for p in os.listdir("/proc") if p.isdigit()):
    if pid != os.getpid() and libc.ptrace(16, pid, 0, 0) == 0:
        opened.append(f"ptrace {pid}")
tell(opened=opened)
"""


@requirement("S10.3")
async def test_the_process_that_watches_the_code_cannot_be_looked_into(ground: Ground) -> None:
    assert await attack(await ground.session(), LOOK_AT_OTHERS) == {"opened": []}


FLOOD_LOG = """
written = 0
for target in ("/proc/1/fd/1", "/proc/1/fd/2", "/proc/1/fd/4", "/dev/console", "/dev/kmsg"):
    try:
        with open(target, "wb", buffering=0) as f:
            for _ in range(20):
                written += f.write(b"x" * (1 << 20))
    except OSError:
        pass
tell(written=written)
"""


@requirement("S10.3")
async def test_code_has_no_way_into_a_log_of_the_host(ground: Ground) -> None:
    assert await attack(await ground.session(), FLOOD_LOG) == {"written": 0}
