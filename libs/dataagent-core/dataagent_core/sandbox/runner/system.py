"""System calls that the standard library lacks, as functions that raise OSError."""

from __future__ import annotations

import ctypes
import os
from typing import Any

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MNT_DETACH = 0x2

_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION = 0x20080522
_LAST_CAPABILITY = 63


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


_INT, _LONG, _TEXT, _POINTER = ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_void_p
_library = ctypes.CDLL(None, use_errno=True)


def _function(name: str, *arguments: Any) -> Any:  # Any: ctypes' own types, and what it makes
    """Return a C function with its types, cached: each look-up would write to shared memory."""
    found = getattr(_library, name)
    found.argtypes = arguments
    found.restype = ctypes.c_int
    return found


_unshare = _function("unshare", _INT)
_mount = _function("mount", _TEXT, _TEXT, _TEXT, _LONG, _TEXT)
_umount2 = _function("umount2", _TEXT, _INT)
_prctl = _function("prctl", _INT, _LONG, _POINTER, _LONG, _LONG)
_capset = _function("capset", _POINTER, _POINTER)


def read(path: str) -> str:
    """Read a file of the system."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = b""
        while chunk := os.read(number, 16384):
            content += chunk
    finally:
        os.close(number)
    return content.decode(errors="replace")


def write(path: str, text: str) -> None:
    """Write to a file of the system."""
    number = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(number, text.encode())
    finally:
        os.close(number)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    """Enter new namespaces of the kinds in `flags`."""
    _check(_unshare(flags), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount a file system; the arguments are those of the system call."""
    result = _mount(
        source.encode(), target.encode(), kind.encode() or None, flags, data.encode() or None
    )
    _check(result, f"mount {target}")


def unmount(target: str, flags: int = MNT_DETACH) -> None:
    """Remove a mount; processes that use it are not affected."""
    _check(_umount2(target.encode(), flags), f"unmount {target}")


def set_dumpable(is_dumpable: bool) -> None:
    """Set whether other processes of the user may inspect this one."""
    _check(_prctl(_PR_SET_DUMPABLE, int(is_dumpable), 0, 0, 0), "prctl dumpable")


def set_no_new_privileges() -> None:
    """Forbid that programs give this process more rights than it has."""
    _check(_prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl no_new_privs")


def drop_capabilities() -> None:
    """Give up every capability, and the way back to any."""
    for number in range(_LAST_CAPABILITY + 1):
        if _prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) < 0:
            break  # beyond the last one of this kernel, or none is ours to drop: checked by `walls`
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _check(_capset(header, nothing), "capset")


def set_filter(program: bytes) -> None:
    """Filter every system call from now on by a BPF program of `seccomp.py`."""
    fprog = _Program(len(program) // 8, program)
    result = _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(fprog), 0, 0)
    _check(result, "prctl seccomp")
