"""Loads files into a DuckDB database: all of them or none, or of a folder those that can be read.

Opens the files without following links out of their folder, hands them to a process with limits of
its own, and moves the database it made into place. Blocking; call it in a thread.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import os
import secrets
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from dataagent_core.data.files.kinds import EXTENSIONS
from dataagent_core.data.files.types import FileLimits, InputFile, LoadedTable, LoadResult
from dataagent_core.data.types import Column
from dataagent_core.errors import BadInput, DataAgentError, LimitReached, Unavailable


def find_files(folder: Path, *, limits: FileLimits) -> list[Path]:
    """The regular files below a folder whose names say that they hold tables, in order.

    Links, hidden files and what Excel leaves while a workbook is open (`~$…`) are left out.

    Raises:
        LimitReached: there are more than may be loaded together.
    """
    found: list[Path] = []
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        found += [
            path
            for name in sorted(names)
            if _is_table_name(name) and _is_regular(path := Path(parent, name))
        ]
        if len(found) > limits.max_files:
            raise LimitReached(f"The folder has more than {limits.max_files} files. Split it.")
    return found


def _is_table_name(name: str) -> bool:
    return not name.startswith((".", "~$")) and Path(name).suffix.lower() in EXTENSIONS


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


_READING = "decimals, no totals"
"""How files are read. When that changes, what was loaded before is loaded again."""


def signature(paths: Sequence[Path]) -> str:
    """A short text that differs when a file was added, removed, renamed or written again."""
    digest = hashlib.sha256(_READING.encode())
    for path in sorted(paths):
        try:
            status = path.stat()
            state = f"{status.st_size} {status.st_mtime_ns} {status.st_ino}"
        except OSError:
            state = "missing"
        digest.update(f"{path}\0{state}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()[:32]


_logger = logging.getLogger(__name__)
_MADE = "tables.duckdb"
_MAX_CRASHES = 3
"""So many files may end the process that reads them before the folder is given up."""


def load_files(
    paths: Sequence[Path], database: Path, *, limits: FileLimits, folder: Path | None = None
) -> list[LoadedTable]:
    """Read the files in full into a new database file, which replaces `database` at the end.

    With `folder`, paths are relative to it or below it, and no link on them may lead out; without,
    each must be a regular file and no link itself.

    Raises:
        BadInput: a file is missing, broken, encrypted or of no kind that can be a table.
        LimitReached: a file, or reading it, is over a limit.
        OutsideWorkspace: a path leads out of `folder`.
    """
    _check_number(paths, limits)
    with ExitStack() as stack:
        files = [stack.enter_context(_opened(path, folder, limits)) for path in paths]
        scratch = stack.enter_context(_scratch(database))
        loaded = _run(files, scratch, limits, is_lenient=False)
        os.replace(scratch / _MADE, database)
    return list(loaded.tables)


def load_folder(
    paths: Sequence[Path], database: Path, *, limits: FileLimits, folder: Path
) -> LoadResult:
    """As `load_files`, but a file that cannot be read is left out and named, and the rest loaded.

    Raises:
        BadInput, LimitReached: none of them can be read, or reading all takes too long.
    """
    _check_number(paths, limits)
    left_out: list[str] = []
    with ExitStack() as stack:
        files: list[InputFile] = []
        for path in paths:
            try:
                files.append(stack.enter_context(_opened(path, folder, limits)))
            except DataAgentError as error:
                left_out.append(error.message)
        loaded = _run_without_crashers(files, database, limits) if files else LoadResult(())
        left_out += loaded.left_out
        if not loaded.tables:
            raise BadInput(left_out[0], details={"problems": left_out})
    return LoadResult(loaded.tables, tuple(left_out))


def _run_without_crashers(files: list[InputFile], database: Path, limits: FileLimits) -> LoadResult:
    """Read the files; one that ends the process that reads it is left out, if there are few."""
    left_out: list[str] = []
    while files:
        with _scratch(database) as scratch:
            try:
                loaded = _run(files, scratch, limits, is_lenient=True)
            except (BadInput, LimitReached) as error:
                killer = (error.details or {}).get("file")
                if killer is None or len(left_out) >= _MAX_CRASHES:
                    raise
                left_out.append(error.message)
                files = [one for one in files if one.name != killer]
                continue
            if loaded.tables:
                os.replace(scratch / _MADE, database)
            return LoadResult(loaded.tables, (*left_out, *loaded.left_out))
    return LoadResult((), tuple(left_out))


def _check_number(paths: Sequence[Path], limits: FileLimits) -> None:
    if not paths:
        raise BadInput("There are no files to load. Put CSV, Excel, Parquet or JSON files there.")
    if len(paths) > limits.max_files:
        raise LimitReached(f"{len(paths)} files; {limits.max_files} may be loaded together.")


@contextmanager
def _scratch(database: Path) -> Generator[Path]:
    """A folder beside the database, so that moving out of it is one step."""
    scratch = database.with_name(f".load-{secrets.token_hex(8)}")
    scratch.mkdir(mode=0o700, parents=True)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _opened(path: Path, folder: Path | None, limits: FileLimits) -> Generator[InputFile]:
    name = path.name
    try:
        if folder is None:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        else:
            from dataagent_core.workspace.jail import (
                Jail,
            )  # heavy, and the worker imports this package

            inside = path.relative_to(folder) if path.is_absolute() else path
            name = inside.as_posix()
            descriptor = Jail(folder).open_file(name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is outside the folder"
        raise BadInput(f"'{name}' cannot be opened: {reason}.") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BadInput(f"'{name}' is not a regular file.")
        if status.st_size > limits.max_file_bytes:
            raise LimitReached(
                f"'{name}' has {status.st_size:,} bytes; {limits.max_file_bytes:,} are allowed."
            )
        yield InputFile(name, f"/dev/fd/{descriptor}", status.st_size)
    finally:
        os.close(descriptor)


def _run(
    files: Sequence[InputFile], scratch: Path, limits: FileLimits, *, is_lenient: bool
) -> LoadResult:
    """Read the files in a process of their own."""
    job = {
        "files": [dataclasses.asdict(one) for one in files],
        "database": str(scratch / _MADE),
        "scratch": str(scratch),
        "limits": dataclasses.asdict(limits),
        "is_lenient": is_lenient,
    }
    command = [sys.executable, "-P", "-m", "dataagent_core.data.files.worker"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[int(one.path.rpartition("/")[2]) for one in files],
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1"},
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(
                json.dumps(job).encode(), timeout=limits.timeout_seconds
            )
        except subprocess.TimeoutExpired as error:
            raise LimitReached(
                f"Loading took longer than {limits.timeout_seconds:g} s. Split the files."
            ) from error
        finally:
            process.kill()
    return _outcome(files, output, errors, process.returncode)


def _outcome(
    files: Sequence[InputFile], output: bytes, errors: bytes, returncode: int
) -> LoadResult:
    lines: list[dict[str, Any]] = [json.loads(line) for line in output.splitlines()]
    last = lines[-1] if lines else {}
    if "tables" in last:
        return LoadResult(tuple(_table(one) for one in last["tables"]), tuple(last["left_out"]))
    if "error" in last:
        raise _error(last["error"])
    _logger.error(
        "Reading a file ended with %s: %s", returncode, errors[-2000:].decode(errors="replace")
    )
    if "reading" not in last:
        raise Unavailable("The process that reads files did not start. The log says why.")
    raise _crash_error(files[int(last["reading"])].name, returncode)


def _crash_error(name: str, returncode: int) -> DataAgentError:
    """Why the process that read the file ended without a word."""
    details: dict[str, object] = {"file": name}
    if returncode > 0:
        message = f"'{name}' cannot be read. Save it again as CSV or Parquet."
        return BadInput(message, details=details)
    if returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        message = f"'{name}' takes too long to read. Split it, or save it as Parquet."
        return LimitReached(message, details=details)
    return LimitReached(
        f"'{name}' cannot be read within the limits of a load: it is broken, or needs too much "
        "memory. Save it again as CSV or Parquet.",
        details=details,
    )


def _table(values: dict[str, Any]) -> LoadedTable:
    columns = tuple(Column(one["name"], one["type"]) for one in values["columns"])
    return LoadedTable(
        values["name"],
        values["file"],
        values["sheet"],
        values["row_count"],
        columns,
        tuple(values["notes"]),
        tuple(values["left_out"]),
    )


def _error(values: dict[str, str]) -> DataAgentError:
    kind = LimitReached if values["code"] == LimitReached.code else BadInput
    return kind(values["message"])
