"""Outside the wall, as root: prepare the mounts, give root up for good, become bubblewrap.

A sandbox whose owner is root is none, so a server that runs as root starts bubblewrap as another
user. That user cannot read root's files; so what the sandbox needs is first mounted, in a private
mount namespace, below one directory, and the workspaces there with their owner mapped to that user.
A project is mapped the same way but writable: files created in it belong to its owner. Reads one
JSON object from its argument; an error goes to stderr and ends it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from . import system

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_CLONE_TREE = 0x1 | 0x80000  # OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC
_RECURSIVE = 0x8000
_EMPTY_PATH = 0x1000
_MOVE_FROM_EMPTY_PATH = 0x4
_HERE = -100
_READ_ONLY, _ID_MAPPED = 0x1, 0x100000
_ROOT = (0, 0)


class _Attributes(ctypes.Structure):
    _fields_ = [
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    ]


def main() -> None:
    """Prepare and become bubblewrap. `stage` is an empty directory, `places` names the mounts in
    it.
    """
    order: dict[str, Any] = json.loads(sys.argv[1])  # Any: our own server wrote it
    user, stage = int(order["user"]), str(order["stage"])
    os.umask(0o022)  # what is made here is for that user, too
    system.unshare(system.CLONE_NEWNS)
    system.mount("none", "/", flags=system.MS_REC | system.MS_PRIVATE)
    system.mount("tmpfs", stage, "tmpfs", system.MS_NOSUID | system.MS_NODEV, "size=1m,mode=755")
    for name, source in order["places"].items():
        os.mkdir(f"{stage}/{name}")
        system.mount(source, f"{stage}/{name}", flags=system.MS_BIND)
    if order["workspaces"]:
        _mount_workspaces(order["workspaces"], f"{stage}/workspaces", user)
    if order["project"]:
        _mount_project(order["project"], f"{stage}/project", user)
    _drop_to(user)
    os.execve(order["command"][0], order["command"], {})  # noqa: S606 - our own server's order


def _mount_workspaces(source: str, target: str, user: int) -> None:
    """Mount a tree read-only in which root's files belong to the user.

    Where the file system cannot do that the place stays empty, and files are copied instead.
    """
    os.mkdir(target)
    try:
        _mount_mapped(source, target, _READ_ONLY, _mapping_of(_ROOT, user))
    except OSError as error:
        sys.stderr.write(f"workspaces cannot be mounted ({error}); files are copied\n")
        os.rmdir(target)


def _mount_project(source: str, target: str, user: int) -> None:
    """Mount a folder in which its owner's files belong to the user, or exit: it is not copied."""
    os.mkdir(target)
    about = os.stat(source)
    try:
        _mount_mapped(source, target, 0, _mapping_of((about.st_uid, about.st_gid), user))
    except OSError as error:
        sys.exit(f"the project's file system cannot be given to another user: {error}")


def _mount_mapped(source: str, target: str, flags: int, namespace: int) -> None:
    tree = _call(_OPEN_TREE, _HERE, source.encode(), _CLONE_TREE | _RECURSIVE)
    attributes = _Attributes(flags | _ID_MAPPED, 0, 0, namespace)
    size = ctypes.sizeof(attributes)
    _call(_MOUNT_SETATTR, tree, b"", _EMPTY_PATH, ctypes.byref(attributes), size)
    _call(_MOVE_MOUNT, tree, b"", _HERE, target.encode(), _MOVE_FROM_EMPTY_PATH)


def _mapping_of(owner: tuple[int, int], user: int) -> int:
    """Return a user namespace in which the owner and their group are the user's."""
    ready, proceed = os.pipe()
    child = os.fork()
    if child == 0:
        system.unshare(system.CLONE_NEWUSER)
        os.write(proceed, b".")
        signal.pause()
    os.read(ready, 1)
    for name, number in zip(("uid_map", "gid_map"), owner, strict=True):
        Path(f"/proc/{child}/{name}").write_text(f"{number} {user} 1")
    namespace = os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(ready)
    os.close(proceed)
    return namespace


def _call(number: int, *arguments: Any) -> int:  # Any: what the call takes
    result = ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)


def _drop_to(user: int) -> None:
    """Become an ordinary user, irrevocably.

    Raises:
        PermissionError: there is one.
    """
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    system.set_no_new_privileges()
    try:
        os.setresuid(0, 0, 0)
    except PermissionError:
        return
    raise PermissionError("root could not be given up")


if __name__ == "__main__":
    main()
