"""Results, charts and files stored for a user, until they expire.

An artefact belongs to its user; to anyone else, and after its time, it does not exist. Its bytes
are reserved on the user's quota before it is written and returned when it is deleted. The rows are
in the table `artifacts`, the files at `{root}/{user_id}/{artifact_id}.parquet`, readable by this
process's user alone. A path is made of ids alone; one that could not be a plain name is refused.
"""

from __future__ import annotations

import asyncio
import builtins
import json
import logging
import os
import re
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select

from dataagent_core.data.results.stored_result import StoredResult
from dataagent_core.data.types import Artifact, Receipt, ResultColumn
from dataagent_core.errors import ArtifactNotFound, OutsideWorkspace
from dataagent_core.storage import Database
from dataagent_core.storage.database import is_storable, storable
from dataagent_core.storage.tables import artifacts
from dataagent_core.workspace.quota import QuotaLedger
from dataagent_core.workspace.workers import run_to_completion

ArtifactFileKind = Literal["table", "chart", "file"]

_SUFFIXES: dict[ArtifactFileKind, str] = {"table": ".parquet", "chart": ".json", "file": ".bin"}
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}")
_BOOKING_TIMEOUT_SECONDS = 60.0


class ArtifactFiles:
    """The files of all users, below one folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, user_id: str, artifact_id: str, kind: ArtifactFileKind) -> Path:
        """Where an artefact's file is or would be.

        Raises:
            OutsideWorkspace: an id cannot be a file's name.
        """
        return self._root / _safe(user_id) / f"{_safe(artifact_id)}{_SUFFIXES[kind]}"

    def prepare_path(self, user_id: str, artifact_id: str, kind: ArtifactFileKind) -> Path:
        """As `path`, with its folder made, for this process's user only."""
        path = self.path(user_id, artifact_id, kind)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path

    def write(self, path: Path, content: bytes) -> None:
        """Write a file whole or not at all."""
        partial = path.with_name(f".{path.name}.{uuid4().hex}.part")
        try:
            with os.fdopen(
                os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb"
            ) as f:
                f.write(content)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    def older_than(self, moment: datetime) -> Iterator[Path]:
        """Every file last written before the moment, half-written ones among them."""
        for path in self._root.glob("*/*"):
            if path.is_file() and path.stat().st_mtime < moment.timestamp():
                yield path


def artifact_id_of(path: Path) -> str:
    """The id in a file's name, half-written or whole."""
    return path.name.lstrip(".").partition(".")[0]


def no_such_artifact(artifact_id: str) -> ArtifactNotFound:
    """The error of an artefact that is not there, or no more."""
    return ArtifactNotFound(
        f"There is no artefact {artifact_id[:64]!r}. It may have expired: run its query again."
    )


@contextmanager
def translate_missing_file(artifact_id: str) -> Generator[None]:
    """Read an artefact's file inside. It may go at any moment, and the artefact with it.

    Raises:
        ArtifactNotFound: the file is gone.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise no_such_artifact(artifact_id) from error


class QuotaReservation:
    """The bytes booked for one file on its user's quota."""

    def __init__(self, ledger: QuotaLedger, user_id: str, quota: int) -> None:
        """Book on the ledger from the running loop."""
        self._ledger = ledger
        self._user_id = user_id
        self._quota = quota
        self._loop = asyncio.get_running_loop()
        self._is_over = False
        self._booked = 0

    async def grow(self, size: int) -> None:
        """Book what is missing to `size` bytes.

        Raises:
            QuotaExceeded: it does not fit the quota.
            ArtifactNotFound: the file was given up meanwhile.
        """
        if self._is_over:
            raise ArtifactNotFound("The artefact was given up while it was being written.")
        more = size - self._booked
        if more > 0:
            await self._ledger.reserve(self._user_id, more, self._quota)
            self._booked = size

    def grow_from_thread(self, size: int) -> None:
        """As `grow`, from a worker thread."""
        growing = asyncio.run_coroutine_threadsafe(self.grow(size), self._loop)
        growing.result(_BOOKING_TIMEOUT_SECONDS)

    async def settle(self, size: int) -> None:
        """Book exactly `size` bytes and no more from now on."""
        await self.grow(size)
        if self._booked > size:
            await self._ledger.release(self._user_id, self._booked - size)
            self._booked = size

    async def release(self) -> None:
        """Give everything back; a thread that still writes is refused from now on."""
        self._is_over = True
        freed, self._booked = self._booked, 0
        if freed:
            await self._ledger.release(self._user_id, freed)


class ArtifactSlot:
    """Where one new table is being written."""

    def __init__(self, artifact_id: str, path: Path, reservation: QuotaReservation) -> None:
        """A path that does not exist yet, and the booking for its bytes."""
        self.artifact_id = artifact_id
        self.path = path
        self.reservation = reservation
        self.is_kept = False

    def on_bytes(self, size: int) -> None:
        """For `keep`, from its worker thread: book what the file has grown to.

        Raises:
            QuotaExceeded: it does not fit the quota.
        """
        self.reservation.grow_from_thread(size)


def _safe(name: str) -> str:
    if not _SAFE_ID.fullmatch(name):
        raise OutsideWorkspace(
            f"Permission denied: {name[:80]!r} cannot name a file. Letters, digits and "
            "'_.@+-' only, at most 64, starting with a letter or digit."
        )
    return name


def row_of(artifact: Artifact) -> dict[str, Any]:
    """The values of the table's columns."""
    row = {name: getattr(artifact, name) for name in Artifact.__slots__}
    row["columns"] = [asdict(column) for column in artifact.columns]
    row["receipt"] = None if artifact.receipt is None else receipt_json(artifact.receipt)
    return row


def artifact_of(row: Mapping[Any, Any]) -> Artifact:
    """The artefact that a row describes."""
    values = {name: row[name] for name in Artifact.__slots__}
    values["columns"] = tuple(ResultColumn(**column) for column in row["columns"])
    values["receipt"] = None if row["receipt"] is None else receipt_of(row["receipt"])
    return Artifact(**values)


def receipt_json(receipt: Receipt) -> dict[str, Any]:
    """A receipt as JSON values."""
    executed_at = receipt.executed_at.isoformat()
    return asdict(receipt) | {
        "policy": list(receipt.policy),
        "warnings": list(receipt.warnings),
        "executed_at": executed_at,
    }


def receipt_of(values: Mapping[str, Any]) -> Receipt:
    """The receipt that `receipt_json` wrote."""
    executed_at = datetime.fromisoformat(values["executed_at"])
    read: dict[str, Any] = {
        **values,
        "policy": tuple(values["policy"]),
        "warnings": tuple(values.get("warnings", ())),  # older receipts have none
        "executed_at": executed_at,
    }
    return Receipt(**read)


logger = logging.getLogger(__name__)

DEFAULT_LIFETIME = timedelta(days=30)
MAX_TITLE = 200
_ABANDONED_AFTER = timedelta(days=1)  # a file without a row is younger only while being written
_AT_ONCE = 200
_C = artifacts.c


@dataclass(frozen=True, slots=True)
class ArtifactDraft:
    """Whose an artefact is and what it is called. A title longer than 200 characters is cut."""

    user_id: str
    title: str
    session_id: str | None = None
    run_id: str | None = None


class ArtifactStore:
    """All users' artefacts."""

    def __init__(
        self,
        database: Database,
        root: Path,
        quota: QuotaLedger,
        quota_bytes: Callable[[str], int] | int,
        *,
        lifetime: timedelta | None = DEFAULT_LIFETIME,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Keep files below `root`, each for `lifetime` (None: until it is deleted)."""
        self._database = database
        self._files = ArtifactFiles(root)
        self._ledger = quota
        self._quota_bytes = quota_bytes
        self._lifetime = lifetime
        self._now = now

    # -- making -----------------------------------------------------------------------------

    @asynccontextmanager
    async def new_slot(self, user_id: str) -> AsyncGenerator[ArtifactSlot]:
        """A place for a new table's file. `create_table` keeps it; else nothing stays of it.

        The body must not end before the thread that writes to the place has ended.

        Raises:
            OutsideWorkspace: the user's id cannot be a folder's name.
        """
        artifact_id = uuid4().hex
        path = await asyncio.to_thread(self._files.prepare_path, user_id, artifact_id, "table")
        slot = ArtifactSlot(artifact_id, path, self._reservation(user_id))
        try:
            yield slot
        finally:
            if not slot.is_kept:
                await run_to_completion(_clear(path, slot.reservation))

    async def create_table(
        self,
        draft: ArtifactDraft,
        slot: ArtifactSlot,
        result: StoredResult,
        *,
        receipt: Receipt | None = None,
    ) -> Artifact:
        """Make an artefact of what `keep` wrote at the place.

        Raises:
            QuotaExceeded: it does not fit the quota.
        """
        table = replace(
            self._new_artifact(draft, "table", slot.artifact_id),
            byte_size=result.byte_size,
            columns=result.columns,
            row_count=result.row_count,
            receipt=receipt,
        )

        async def settled() -> None:
            await slot.reservation.settle(result.byte_size)
            await self._insert(table)
            slot.is_kept = True

        await run_to_completion(settled())
        return table

    async def create_chart(
        self, draft: ArtifactDraft, spec: dict[str, Any], *, parent: Artifact
    ) -> Artifact:
        """Keep a chart's specification. It lasts as long as the table it draws.

        Raises:
            QuotaExceeded: it does not fit the quota.
        """
        content = json.dumps(spec, ensure_ascii=False).encode()
        chart = replace(
            self._new_artifact(draft, "chart", uuid4().hex),
            byte_size=len(content),
            spec=spec,
            parent_id=parent.artifact_id,
            columns=parent.columns,
            row_count=parent.row_count,
            receipt=parent.receipt,
            expires_at=parent.expires_at,
        )
        await run_to_completion(self._store_file(chart, None))
        return chart

    async def create_file(
        self, draft: ArtifactDraft, content: bytes, *, parent: Artifact | None = None
    ) -> Artifact:
        """Keep a file of any format, say a drawn chart. It goes with its parent, if it has one.

        Raises:
            QuotaExceeded: it does not fit the quota.
            OutsideWorkspace: the user's id cannot be a folder's name.
        """
        file = self._new_artifact(draft, "file", uuid4().hex)
        file = replace(file, byte_size=len(content))
        if parent is not None:
            file = replace(file, parent_id=parent.artifact_id, expires_at=parent.expires_at)
        await run_to_completion(self._store_file(file, content))
        return file

    # -- reading ----------------------------------------------------------------------------

    async def get(self, artifact_id: str, *, owner: str) -> Artifact:
        """One artefact of the owner's.

        Raises:
            ArtifactNotFound: there is none, it is another's, or its time is over.
        """
        wanted = select(artifacts).where(_C.artifact_id == artifact_id, *self._of(owner))
        row = None
        if is_storable(artifact_id):
            row = await self._database.read(lambda c: c.execute(wanted).mappings().one_or_none())
        if row is None:
            raise no_such_artifact(artifact_id)
        return artifact_of(row)

    async def list(
        self, owner: str, *, session_id: str | None = None, limit: int = 100, offset: int = 0
    ) -> builtins.list[Artifact]:
        """The owner's artefacts, the newest first."""
        wanted = select(artifacts).where(*self._of(owner, session_id))
        ordered = wanted.order_by(_C.created_at.desc(), _C.artifact_id).limit(limit).offset(offset)
        rows = await self._database.read(lambda c: c.execute(ordered).mappings().all())
        return [artifact_of(row) for row in rows]

    async def count(self, owner: str, *, session_id: str | None = None) -> int:
        """How many `list` would give without a limit."""
        wanted = select(func.count()).select_from(artifacts).where(*self._of(owner, session_id))
        return int(await self._database.read(lambda c: c.execute(wanted).scalar_one()))

    async def usage(self, owner: str) -> int:
        """Bytes of all the owner's artefacts, expired ones that still lie there included."""
        wanted = select(func.coalesce(func.sum(_C.byte_size), 0)).where(_C.user_id == owner)
        return int(await self._database.read(lambda c: c.execute(wanted).scalar_one()))

    def path_of(self, artifact: Artifact) -> Path:
        """Where the artefact's file is. A chart has no file: it is its `spec`."""
        return self._files.path(artifact.user_id, artifact.artifact_id, artifact.kind)

    # -- ends -------------------------------------------------------------------------------

    async def delete(self, artifact_id: str, *, owner: str) -> None:
        """Delete an artefact and what was made from it, and give its bytes back.

        Raises:
            ArtifactNotFound: there is none, it is another's, or its time is over.
        """
        artifact = await self.get(artifact_id, owner=owner)
        family = or_(_C.artifact_id == artifact.artifact_id, _C.parent_id == artifact.artifact_id)
        await run_to_completion(self._delete_all(_C.user_id == owner, family))

    async def delete_session(self, session_id: str, *, owner: str) -> int:
        """Delete the artefacts of one of the owner's sessions; how many there were."""
        return await run_to_completion(
            self._delete_all(_C.user_id == owner, _C.session_id == session_id)
        )

    async def delete_expired(self) -> int:
        """Delete what is past its time, and files without a row; return how many artefacts."""
        gone = 0
        while count := await run_to_completion(self._delete(_C.expires_at <= self._now())):
            gone += count
        await self._delete_abandoned()
        return gone

    # -- inside -----------------------------------------------------------------------------

    def _of(self, owner: str, session_id: str | None = None) -> builtins.list[ColumnElement[bool]]:
        """The owner's artefacts that are within their time."""
        is_alive = or_(_C.expires_at.is_(None), _C.expires_at > self._now())
        in_session = [] if session_id is None else [_C.session_id == session_id]
        return [_C.user_id == owner, is_alive, *in_session]

    def _reservation(self, user_id: str) -> QuotaReservation:
        quota = self._quota_bytes
        return QuotaReservation(
            self._ledger, user_id, quota if isinstance(quota, int) else quota(user_id)
        )

    def _new_artifact(
        self, draft: ArtifactDraft, kind: ArtifactFileKind, artifact_id: str
    ) -> Artifact:
        now = self._now()
        return Artifact(
            artifact_id=artifact_id,
            user_id=draft.user_id,
            session_id=draft.session_id,
            run_id=draft.run_id,
            kind=kind,
            title=storable(draft.title)[:MAX_TITLE],
            byte_size=0,
            created_at=now.replace(microsecond=now.microsecond // 1000 * 1000),  # as it is stored
            expires_at=None if self._lifetime is None else now + self._lifetime,
        )

    async def _store_file(self, artifact: Artifact, content: bytes | None) -> None:
        """Reserve, write, insert; on failure none of it."""
        path = self.path_of(artifact)
        reservation = self._reservation(artifact.user_id)
        try:
            await reservation.grow(artifact.byte_size)
            if content is not None:
                await asyncio.to_thread(self._write, artifact, content)
            await self._insert(artifact)
        except BaseException:
            await _clear(path, reservation)
            raise

    def _write(self, artifact: Artifact, content: bytes) -> None:
        path = self._files.prepare_path(artifact.user_id, artifact.artifact_id, artifact.kind)
        self._files.write(path, content)

    async def _insert(self, artifact: Artifact) -> None:
        row = row_of(artifact)
        await self._database.write(lambda c: c.execute(insert(artifacts).values(**row)).rowcount)

    async def _delete_all(self, *conditions: ColumnElement[bool]) -> int:
        """Delete every row that fits, some at a time; how many they were."""
        gone = 0
        while count := await self._delete(*conditions):
            gone += count
        return gone

    async def _delete(self, *conditions: ColumnElement[bool]) -> int:
        """Delete some rows that fit, then their bytes and files; how many they were."""
        gone = await self._database.write(lambda c: _delete_rows(c, conditions))
        for artifact in gone:
            await self._ledger.release(artifact.user_id, artifact.byte_size)
            await asyncio.to_thread(_remove, self.path_of(artifact))
        return len(gone)

    async def _delete_abandoned(self) -> None:
        """Remove files that a process left behind when it died while writing."""
        before = self._now() - _ABANDONED_AFTER
        found = await asyncio.to_thread(lambda: [*self._files.older_than(before)])
        for start in range(0, len(found), _AT_ONCE):
            by_id = {artifact_id_of(path): path for path in found[start : start + _AT_ONCE]}
            wanted = select(_C.artifact_id).where(_C.artifact_id.in_(by_id))
            known = await self._database.read(lambda c, w=wanted: {*c.execute(w).scalars()})
            for artifact_id, path in by_id.items():
                if artifact_id not in known:
                    await asyncio.to_thread(_remove, path)


def _remove(path: Path) -> None:
    """Remove a file without an artefact; if the disk refuses, the next sweep tries again."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        logger.exception("the file of an artefact could not be removed")


def _delete_rows(
    connection: Connection, conditions: Sequence[ColumnElement[bool]]
) -> builtins.list[Artifact]:
    """Delete rows one by one, so that each is deleted by one of several concurrent callers."""
    found: Sequence[Mapping[Any, Any]] = (
        connection.execute(select(artifacts).where(*conditions).limit(_AT_ONCE)).mappings().all()
    )
    return [
        artifact_of(row)
        for row in found
        if connection.execute(
            delete(artifacts).where(_C.artifact_id == row["artifact_id"])
        ).rowcount
    ]


async def _clear(path: Path, reservation: QuotaReservation) -> None:
    await asyncio.to_thread(path.unlink, missing_ok=True)
    await reservation.release()
