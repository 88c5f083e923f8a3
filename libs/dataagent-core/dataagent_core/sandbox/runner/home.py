"""A session's files: its namespaces, its size-limited file system, its view of the workspace.

In `fork` mode the session makes namespaces of its own and mounts: one tmpfs with a hard size and
number of files holds everything writable (`/workspace`, `/tmp`, `/dev/shm`), and the user's
workspace is read-only below an overlay, whose upper layer is then the exact list of changes. A
project has already been mounted writable by bubblewrap, and only `/output` is ours. In `single`
mode the container has mounted everything.
"""

from __future__ import annotations

import os

from . import system, tree
from .kernel import OUTPUT, OUTPUT_PLACE, WORKSPACE
from .limits import RunLimits

WORKSPACES = "/run/workspaces"
_UPPER = "/run/upper"
_PLAIN = system.MS_NOSUID | system.MS_NODEV
_ALL_NEW = (
    system.CLONE_NEWUSER
    | system.CLONE_NEWNS
    | system.CLONE_NEWPID
    | system.CLONE_NEWIPC
    | system.CLONE_NEWUTS
    | system.CLONE_NEWNET
    | system.CLONE_NEWCGROUP
)
_INSIDE, _GIVEN = f"{WORKSPACE}/", f"{OUTPUT_PLACE}/"


def unshare_namespaces() -> None:
    """Enter new namespaces, of which our children are the first processes.

    Raises:
        OSError: the system does not let us.
    """
    user, group = os.getuid(), os.getgid()
    system.set_dumpable(True)  # else /proc/self is not ours to write
    system.unshare(_ALL_NEW)
    system.write("/proc/self/setgroups", "deny")
    system.write("/proc/self/uid_map", f"{user} {user} 1")
    system.write("/proc/self/gid_map", f"{group} {group} 1")


def isolate_proc() -> None:
    """As the first process in them: mount our own /proc, and forbid others to inspect us."""
    system.mount("none", "/", flags=system.MS_REC | system.MS_PRIVATE)
    system.mount("proc", "/proc", "proc", _PLAIN | system.MS_NOEXEC)
    system.write("/proc/self/oom_score_adj", "100")  # before the server, after user code
    system.set_dumpable(False)


class Home:
    """The files of a session, by descriptor.

    `changed` is the directory in which everything is new or changed; `has_overlay` says whether the
    workspace lies below it. What was put there as the workspace's own counts as unchanged. With
    `in_place` the workspace is the user's own folder, and beside it what is left in `/output`.
    """

    def __init__(
        self, workspace: int, changed: int, *, has_overlay: bool, in_place: bool = False
    ) -> None:
        self._workspace = workspace
        self._changed = changed
        self._given = changed if in_place else workspace
        self._temporary = os.open("/tmp", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # noqa: S108
        self.has_overlay = has_overlay
        self._baseline: dict[str, str] = {}

    def refresh(self) -> None:
        """Pick up changes of the user's own files.

        Raises:
            OSError: the system does not let us.
        """
        if self.has_overlay:
            _forget_names()

    def list_files(self) -> list[tree.TreeEntry]:
        """List the files, with stamps that differ when the content may."""
        return list(tree.walk(self._changed))

    def changes(self) -> list[tree.TreeEntry]:
        """Return everything that differs from the user's workspace."""
        now = self.list_files()
        there = {entry.path for entry in now}
        deleted = [
            tree.TreeEntry(path, "deleted", 0, "") for path in self._baseline if path not in there
        ]
        return deleted + [e for e in now if self._baseline.get(e.path) != e.stamp]

    def open_changed(self, path: str, limit: int) -> tree.PlainFile | None:
        """Open a changed file; None if it is gone, no regular file, or longer."""
        try:
            return tree.open_plain(self._changed, path, limit)
        except OSError:
            return None

    def open(self, path: str, limit: int) -> tree.PlainFile | None:
        """Open a file by the path user code would use; see `tree.open_plain`."""
        root, below = self._find(path)
        return tree.open_plain(root, below, limit)

    def write(self, path: str, content: bytes) -> None:
        """Write a file, likewise; see `tree.write`."""
        root, below = self._find(path)
        tree.write(root, below, content)

    def mark_unchanged(self, path: str) -> None:
        """Note that a file is now as in the user's workspace."""
        root, below = self._find(path)
        stamp = tree.stamp_of(self._changed, below) if root == self._workspace else None
        if stamp is not None:
            self._baseline[below] = stamp

    def drop(self, path: str, stamp: str) -> None:
        """Remove a file that the user's workspace has deleted, unless code has changed it."""
        root, below = self._find(path)
        now = tree.stamp_of(self._changed, below) if root == self._workspace else None
        if now is not None and now in {stamp, self._baseline.get(below)}:
            tree.remove(root, below)
            self._baseline.pop(below, None)

    def _find(self, path: str) -> tuple[int, str]:
        if path.startswith("/tmp/"):  # noqa: S108 - the session's own
            return self._temporary, path.removeprefix("/tmp/")  # noqa: S108
        if path.startswith(_GIVEN):
            return self._given, f"{OUTPUT}/{path.removeprefix(_GIVEN)}"
        return self._workspace, path.removeprefix(_INSIDE)


def plain_home() -> Home:
    """Return the home that a container has prepared."""
    workspace = _open(WORKSPACE)
    _make_output(workspace)
    return Home(workspace, workspace, has_overlay=False)


def mount_home(limits: RunLimits, place: str | None) -> Home:
    """Mount a home; the workspace at `place` goes below it, or is mounted already.

    Raises:
        OSError: it cannot be built.
    """
    size = f"size={limits.disk},nr_inodes={limits.inodes},mode=755"
    system.mount("tmpfs", _UPPER, "tmpfs", _PLAIN, size)
    for name, mode in (("upper", 0o755), ("work", 0o755), ("tmp", 0o1777), ("shm", 0o1777)):
        os.mkdir(f"{_UPPER}/{name}", mode)
        os.chmod(f"{_UPPER}/{name}", mode)
    changed, in_place = _open(f"{_UPPER}/upper"), place == WORKSPACE
    has_overlay = place is not None and not in_place and _overlay(place)
    if in_place:
        _make_output(changed)
        _bind(f"{_UPPER}/upper/{OUTPUT}", OUTPUT_PLACE)
    elif not has_overlay:
        _bind(f"{_UPPER}/upper", WORKSPACE)
    _bind(f"{_UPPER}/tmp", "/tmp")  # noqa: S108 - the session's own
    _bind(f"{_UPPER}/shm", "/dev/shm")  # noqa: S108
    if os.path.isdir(WORKSPACES):  # hide the others' workspaces
        system.mount("tmpfs", WORKSPACES, "tmpfs", _PLAIN | system.MS_RDONLY, "size=4k,nr_inodes=1")
    system.unmount(_UPPER)
    workspace = _open(WORKSPACE)
    if not in_place:
        _make_output(workspace)
    return Home(workspace, changed, has_overlay=has_overlay, in_place=in_place)


def _overlay(place: str) -> bool:
    """Mount the workspace below the upper layer; False where the system cannot (Linux < 6.6)."""
    root = _open(WORKSPACES)
    lower = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
    os.close(root)
    try:
        layers = f"lowerdir=/proc/self/fd/{lower},upperdir={_UPPER}/upper,workdir={_UPPER}/work"
        system.mount("overlay", WORKSPACE, "overlay", _PLAIN, f"{layers},userxattr")
    except OSError:
        return False
    finally:
        os.close(lower)
    try:
        _forget_names()
    except OSError:
        system.unmount(WORKSPACE)
        return False
    return True


def _forget_names() -> None:
    """Make an overlay look names up anew.

    It remembers what a name stood for, and that it stood for nothing, whatever happens below it
    since. Mounting it again makes it forget all names that are not open.
    """
    system.mount("none", WORKSPACE, flags=_PLAIN | system.MS_REMOUNT)


def _bind(source: str, target: str) -> None:
    system.mount(source, target, flags=system.MS_BIND)


def _open(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _make_output(workspace: int) -> None:
    try:
        os.mkdir(OUTPUT, 0o755, dir_fd=workspace)
    except FileExistsError:
        return
