"""The kernel's other doors are shut: system calls, socket families, knobs, places to write to."""

from __future__ import annotations

import platform

import pytest

from tests.requirements import requirement

from .ground import Ground, attack

pytestmark = pytest.mark.asyncio(loop_scope="session")

CALLS = {
    "io_uring_setup": (425, 1, 0), "keyctl": (250, 0, -3), "add_key": (248, 0, 0, 0),
    "bpf": (321, 0, 0, 0), "perf_event_open": (298, 0, 0, -1), "userfaultfd": (323, 0),
    "unshare_user": (272, 0x10000000), "unshare_ns": (272, 0x20000), "setns": (308, 0, 0),
    "mount": (165, 0, 0, 0, 0), "umount": (166, 0, 0), "pivot_root": (155, 0, 0),
    "chroot": (161, 0), "ptrace": (101, 0, 0, 0), "process_vm_readv": (310, 1, 0, 0),
    "process_vm_writev": (311, 1, 0, 0), "kexec_load": (246, 0, 0), "init_module": (175, 0, 0),
    "finit_module": (313, -1, 0), "delete_module": (176, 0, 0), "open_by_handle_at": (304, -1, 0),
    "name_to_handle_at": (303, -1, 0), "swapon": (167, 0, 0), "reboot": (169, 0, 0, 0),
    "sethostname": (170, 0, 0), "clock_settime": (227, 0, 0), "settimeofday": (164, 0, 0),
    "acct": (163, 0), "quotactl": (179, 0, 0), "iopl": (172, 3), "ioperm": (173, 0, 1, 1),
    "syslog": (103, 3, 0, 0), "fanotify_init": (300, 0, 0), "open_tree": (428, -1, 0, 0),
    "move_mount": (429, -1, 0), "fsopen": (430, 0, 0), "fspick": (433, -1, 0),
    "mount_setattr": (442, -1, 0), "pidfd_getfd": (438, -1, 0), "kcmp": (312, 1, 1, 0),
    "personality": (135, 0x0040000), "memfd_secret": (447, 0), "clone_newuser": (56, 0x10000011),
    "unknown": (999, 0),
}  # fmt: skip
TRY_CALLS = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
open_, REFUSED = {}, (errno.EPERM, errno.EACCES, errno.ENOSYS)
for name, (number, *given) in FACTS["calls"].items():
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, [*given, 0, 0, 0, 0][:6]))
    if got == 0 and name.startswith("clone"):
        os._exit(0)
    if got >= 0 or ctypes.get_errno() not in REFUSED:
        open_[name] = [got, errno.errorcode.get(ctypes.get_errno())]
tell(open=open_)
"""


@requirement("S10.3")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
async def test_system_calls_that_code_has_no_use_for_are_refused(ground: Ground) -> None:
    assert await attack(await ground.session(), TRY_CALLS, calls=CALLS) == {"open": {}}


TRY_SOCKETS = """
import socket
made = []
FAMILIES = {"vsock": 40, "netlink": 16, "packet": 17, "alg": 38, "key": 15, "bluetooth": 31,
            "xdp": 44, "tipc": 30, "can": 29}
for name, family in FAMILIES.items():
    for kind in (socket.SOCK_RAW, socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try:
            socket.socket(family, kind).close()
            made.append(name)
        except OSError:
            pass
try:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()
    made.append("raw")
except OSError:
    pass
tell(made=made)
"""


@requirement("S10.3")
async def test_socket_families_that_reach_the_kernel_are_refused(ground: Ground) -> None:
    assert await attack(await ground.session(), TRY_SOCKETS) == {"made": []}


PROBE_KNOBS = """
import glob
opened = []
knobs = ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger",
         "/proc/sys/kernel/modprobe", "/proc/sys/net/ipv4/ip_forward", "/sys/kernel/uevent_helper",
         "/proc/1/oom_score_adj", "/proc/self/uid_map", "/dev/mem", "/dev/kmsg", "/dev/sda",
         *glob.glob("/sys/fs/cgroup/**/release_agent", recursive=True),
         *glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)]
for knob in knobs:
    try:
        os.close(os.open(knob, os.O_WRONLY))  # opened only: a knob of the host is never turned
        opened.append(knob)
    except OSError:
        pass
tell(opened=[k for k in opened if k != "/proc/self/uid_map" or open(k).read() == ""])
"""


@requirement("S10.3")
async def test_no_knob_of_the_host_can_be_opened_for_writing(ground: Ground) -> None:
    assert await attack(await ground.session(), PROBE_KNOBS) == {"opened": []}


WRITE_ELSEWHERE = """
written = []
for place in FACTS["places"]:
    try:
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "planted"), "w") as f:
            f.write("x")
        written.append(place)
    except OSError:
        pass
tell(written=written)
"""
PLACES = [
    "/", "/etc", "/usr", "/usr/bin", "/usr/lib", "/bin", "/lib", "/lib64", "/opt", "/opt/site",
    "/root", "/home", "/var", "/var/tmp", "/sys", "/proc", "/dev", "/boot", "/run", "/mnt", "/srv",
]  # fmt: skip


@requirement("S10.3")
async def test_nothing_can_be_written_outside_the_work_places(ground: Ground) -> None:
    assert await attack(await ground.session(), WRITE_ELSEWHERE, places=PLACES) == {"written": []}


BECOME_SOMEBODY = """
import ctypes
status = dict(l.split(":", 1) for l in open("/proc/self/status").read().splitlines())
became = []
WAYS = (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]),
        lambda: os.chown("/tmp", 0, 0))
for how in WAYS:
    try:
        how(); became.append(os.getuid())
    except OSError:
        pass
ids = {k: status[k].strip() for k in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb")}
tell(caps=sorted({int(v, 16) for v in ids.values()}), nnp=status["NoNewPrivs"].strip(),
     seccomp=status["Seccomp"].strip(), became=became)
"""


@requirement("S2.4.1c", "S10.3")
async def test_the_code_has_no_rights_and_no_way_to_any(ground: Ground) -> None:
    seen = await attack(await ground.session(), BECOME_SOMEBODY)
    assert seen == {"caps": [0], "nnp": "1", "seccomp": "2", "became": []}
