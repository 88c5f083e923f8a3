"""What bubblewrap is asked for: the command line of the outer wall. Reads the file system only.

Programs and libraries are visible read-only, of `/etc` a handful of harmless files; nothing of the
host is writable but a project, the root is sealed, and there is no network. When we are root the
command first gives that up (`runner/drop.py`).
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from pathlib import Path

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
    """Builds the command line; writes two small files into `stage`."""

    def __init__(
        self,
        program: str,
        stage: Path,
        workspaces: Path | None,
        packages: Path | None,
        project: Path | None = None,
    ) -> None:
        """With a `project` all sessions have that folder, itself, as their workspace."""
        self._project = project
        self._program = program
        self._stage = stage
        self._workspaces = workspaces
        self._packages = packages or Path(sysconfig.get_path("purelib"))
        self._python = Path(os.path.realpath(sys.executable))
        self._is_root = os.geteuid() == 0

    def arguments(self) -> list[str]:
        """The program and its arguments."""
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
        """Code may use the project's repository, but not say what Git runs for its owner.

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
