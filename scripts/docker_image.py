"""A base image for the sandbox from this machine's own Python, without a registry.

The tar holds the interpreter of this process with its standard library, the shared libraries they
need, a shell, grep and the core utilities; no packages, those are bound into the container. It is
for tests and benchmarks on the machine it was made on: production builds `infra/sandbox/Dockerfile`
from an official image.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

PYTHON = "/usr/local/bin/python3"
_LEFT_OUT = {
    "site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "tkinter",
    "turtledemo", "ensurepip",
}  # fmt: skip
_PROGRAMS = (
    "sh", "dash", "grep", "cat", "ls", "cp", "mv", "rm", "mkdir", "echo", "head", "tail", "wc",
    "sort", "uniq", "find", "env", "sleep", "true", "false", "stat", "touch", "ln", "id", "sed",
    "base64", "dd", "mkfifo", "kill", "printf", "tr", "cut", "xargs", "awk", "mawk",
)  # fmt: skip
_LIBRARIES = (
    "libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1", "libz.so.1", "libm.so.6", "libpthread.so.0",
    "libdl.so.2", "librt.so.1", "libutil.so.1", "libexpat.so.1", "libnss_files.so.2",
)  # fmt: skip
_FONTS = ("/usr/share/fonts/truetype/wqy", "/usr/share/fonts/opentype/noto")
_FOUND = re.compile(r"(?:=> )?(/\S+) \(0x")
_LISTED = re.compile(r"^\s*(\S+) .*=> (/\S+)$", re.MULTILINE)
_MOST_FONT_BYTES = 20_000_000


def write_base(target: Path) -> None:
    """Write the image's tar."""
    stdlib = Path(sysconfig.get_path("stdlib")).resolve()
    interpreter = Path(sys.executable).resolve()
    modules = [*_standard_library(stdlib)]
    programs = [Path(found) for name in _PROGRAMS if (found := shutil.which(name))]
    binaries = [interpreter, *programs, *(path for path in modules if ".so" in path.suffixes)]
    libraries = _needed({path.resolve() for path in binaries} | {*_system_libraries()})
    with tarfile.open(target, "w") as tar:
        folders: set[str] = set()
        for path in [interpreter, *programs, *modules, *libraries, *_fonts()]:
            _add(tar, path, folders)
        _add_skeleton(tar, interpreter, folders)


def _standard_library(root: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in _LEFT_OUT and "config-" not in name]
        yield from (Path(folder, file) for file in files if not file.startswith("_tkinter"))


def _system_libraries() -> Iterator[Path]:
    """The libraries that wheels expect a Linux to have, by the loader's own list."""
    listed = subprocess.run(
        ["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True
    ).stdout
    known = {name: Path(path) for name, path in reversed(_LISTED.findall(listed))}
    yield from (known[name] for name in _LIBRARIES if name in known)


def _needed(binaries: Iterable[Path]) -> set[Path]:
    """The binaries and all shared libraries they load, under the requested names."""
    files = sorted(binaries)
    listed = subprocess.run(
        ["ldd", *map(str, files)], capture_output=True, text=True, check=False
    ).stdout
    return {*files, *map(Path, _FOUND.findall(listed))}


def _fonts() -> Iterator[Path]:
    for folder in _FONTS:
        for path in sorted(Path(folder).rglob("*.tt[cf]")):
            if path.stat().st_size < _MOST_FONT_BYTES:
                yield path
                break


def _add(tar: tarfile.TarFile, path: Path, folders: set[str]) -> None:
    """Add a file under its own path, readable by all; a link becomes what it points to."""
    name = str(path).lstrip("/")
    if name in folders or not path.is_file():
        return
    folders.add(name)
    _add_folders(tar, name, folders)
    with path.open("rb") as content:
        entry = tarfile.TarInfo(name)
        entry.size = os.fstat(content.fileno()).st_size
        entry.mode = 0o755 if os.access(path, os.X_OK) else 0o644
        entry.mtime = int(path.stat().st_mtime)  # compiled modules are checked against it
        tar.addfile(entry, content)


def _add_folders(tar: tarfile.TarFile, name: str, folders: set[str]) -> None:
    for parent in reversed(Path(name).parents):
        if str(parent) != "." and str(parent) not in folders:
            folders.add(str(parent))
            _add_folder(tar, str(parent), 0o755)


def _add_folder(tar: tarfile.TarFile, name: str, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, mode
    tar.addfile(entry)


def _add_skeleton(tar: tarfile.TarFile, interpreter: Path, folders: set[str]) -> None:
    """What every Linux has: a user without rights, mount points, `python3`."""
    for name in ("workspace", "tmp"):
        _add_folder(tar, name, 0o1777)
    _add_link(tar, "output", "workspace/output")
    for name in ("proc", "dev", "sys", "opt/site", "opt/runner"):
        _add_folders(tar, f"{name}/x", folders)
    _add_text(tar, "etc/passwd", "nobody:x:65534:65534:nobody:/workspace:/bin/sh\n", folders)
    _add_text(tar, "etc/group", "nogroup:x:65534:\n", folders)
    _add_folders(tar, PYTHON.lstrip("/"), folders)
    _add_link(tar, PYTHON.lstrip("/"), str(interpreter))
    if "bin" not in folders:
        _add_link(tar, "bin", "usr/bin")


def _add_link(tar: tarfile.TarFile, name: str, points_to: str) -> None:
    link = tarfile.TarInfo(name)
    link.type, link.linkname = tarfile.SYMTYPE, points_to
    tar.addfile(link)


def _add_text(tar: tarfile.TarFile, name: str, text: str, folders: set[str]) -> None:
    _add_folders(tar, name, folders)
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(text), 0o644
    tar.addfile(entry, io.BytesIO(text.encode()))
