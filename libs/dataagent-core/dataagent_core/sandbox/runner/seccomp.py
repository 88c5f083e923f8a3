"""The system calls that sandboxed code may not make, as a BPF program. Pure.

A list of what is denied, not of what is allowed: pandas, numpy, matplotlib and DuckDB use too much
for the latter, and calls that are newer than this list do not exist for sandboxed code (ENOSYS).
Sockets are of three families, new namespaces cannot be made, and a foreign architecture's calls
end the process.
"""

from __future__ import annotations

import errno
import struct

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LAST_KNOWN = 462
"""The highest number of a call this list was made with (mseal, Linux 6.10)."""

_NEW_NAMESPACES = 0x7E020080
"""CLONE_NEWNS, NEWTIME, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""

_FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6; none of them leads anywhere without a network."""

_PR_SET_DUMPABLE = 4
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX."""

DENIED: dict[str, tuple[int | None, int | None]] = {
    # name: number on x86_64, number on aarch64
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "listmount": (458, 458),
    "lookup_dcookie": (212, 18),
    "mbind": (237, 235),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "statmount": (457, 457),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}

_CLONE = (56, 220)
_CLONE3 = (435, 435)
_SOCKET = (41, 198)
_SOCKETPAIR = (53, 199)
_PRCTL = (157, 167)
_IOCTL = (16, 29)


class UnknownArchitecture(ValueError):
    """There are no call numbers for this machine, so nothing may run on it."""


def build(machine: str) -> bytes:
    """The filter for a machine as `os.uname().machine` names it.

    Raises:
        UnknownArchitecture: for others than x86_64 and aarch64.
    """
    if machine not in _ARCHITECTURES:
        raise UnknownArchitecture(
            f"No seccomp filter for {machine!r}; x86_64 and aarch64 have one."
        )
    column = list(_ARCHITECTURES).index(machine)
    lines = [
        _line(_LOAD, _ARCHITECTURE),
        _line(_JUMP_EQUAL, _ARCHITECTURES[machine], 1, 0),
        _line(_RETURN, _KILL),
        _line(_LOAD, _NUMBER),
        _line(_JUMP_AT_LEAST, _LAST_KNOWN + 1, 0, 1),
        _error(errno.ENOSYS),
    ]
    for numbers in DENIED.values():
        number = numbers[column]
        if number is not None:
            lines += [_line(_JUMP_EQUAL, number, 0, 1), _error(errno.EPERM)]
    lines += [_line(_JUMP_EQUAL, _CLONE3[column], 0, 1), _error(errno.ENOSYS)]
    lines += _by_argument(_SOCKET[column], 0, _allow_only(_FAMILIES, errno.EAFNOSUPPORT))
    lines += _by_argument(_SOCKETPAIR[column], 0, _allow_only(_FAMILIES, errno.EAFNOSUPPORT))
    no_namespace = [_line(_JUMP_ANY_BIT, _NEW_NAMESPACES, 0, 1), _error(errno.EPERM)]
    lines += _by_argument(_CLONE[column], 0, [*no_namespace, _line(_RETURN, _ALLOW)])
    lines += _by_argument(_PRCTL[column], 0, _deny_only((_PR_SET_DUMPABLE,)))
    lines += _by_argument(_IOCTL[column], 1, _deny_only(_TERMINAL_INPUT))
    return b"".join([*lines, _line(_RETURN, _ALLOW)])


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _error(number: int) -> bytes:
    return _line(_RETURN, _ERROR | number)


def _by_argument(number: int, argument: int, verdict: list[bytes]) -> list[bytes]:
    """For one call, load an argument's lower half and judge by it; others go on."""
    load = _line(_LOAD, _ARGUMENTS + 8 * argument)
    return [_line(_JUMP_EQUAL, number, 0, len(verdict) + 1), load, *verdict]


def _allow_only(values: tuple[int, ...], otherwise: int) -> list[bytes]:
    count = len(values)
    jumps = [_line(_JUMP_EQUAL, value, count - place) for place, value in enumerate(values)]
    return [*jumps, _error(otherwise), _line(_RETURN, _ALLOW)]


def _deny_only(values: tuple[int, ...]) -> list[bytes]:
    count = len(values)
    jumps = [_line(_JUMP_EQUAL, value, count - place) for place, value in enumerate(values)]
    return [*jumps, _line(_RETURN, _ALLOW), _error(errno.EPERM)]
