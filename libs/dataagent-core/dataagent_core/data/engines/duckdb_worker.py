"""The process that runs DuckDB's statements: `python -I duckdb_worker.py BYTES`.

It may reserve BYTES of memory more than it has at its start; beyond that it ends. It opens one
database at a time, a file or stored tables, runs one statement at a time, and sends each batch of
rows on request. A request to interrupt is read while a statement runs. The process ends when its
parent closes standard input.

A request is a length (4 bytes) and JSON; an answer is a kind (`j` JSON, `a` Arrow, `e` error,
`.` the end of the rows), a length (8 bytes) and its content. Loads nothing but DuckDB and Arrow, so
that it starts quickly.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeArgument=false

from __future__ import annotations

import json
import os
import re
import resource
import struct
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa

MAX_ROW_BYTES = 256 * 1024 * 1024
"""A larger row is refused here: its reader would need as much memory."""
METADATA = b"dataagent"
_PIECE_BYTES = 32 * 1024 * 1024
_TEXT = re.compile(r"\bBIT\b|TIME WITH TIME ZONE|UHUGEINT|BIGNUM|VARIANT|\bUNION\(")
_Request = dict[str, Any]  # Any: JSON


class Refused(Exception):
    """A statement that is not run: `only_select`, or `row_too_large`."""


class DuckdbWorker:
    """One database, and the statement that runs on it."""

    def __init__(self) -> None:
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._rows: Iterator[pa.RecordBatch] = iter(())
        self._reader: pa.RecordBatchReader | None = None

    def interrupt(self) -> None:
        """Have the statement that runs give up. Called from another thread."""
        connection = self._connection
        if connection is not None:
            connection.interrupt()

    def answer(self, request: _Request) -> tuple[bytes, bytes]:
        """The kind of the answer, and the answer."""
        match request["op"]:
            case "open":
                self._open(request)
            case "start":
                return b"a", _streamed(self._start(request))
            case "next":
                batch = next(self._rows, None)
                return (b".", b"") if batch is None else (b"a", _streamed(batch))
            case "stop":
                self._stop()
            case "fetch":
                found = self._open_connection().execute(request["sql"]).fetchall()
                return b"j", json.dumps(found, default=str).encode()
            case _:
                self._close()
        return b"j", b"null"

    def _open(self, request: _Request) -> None:
        self._close()
        connection = duckdb.connect(
            request["path"] or ":memory:",
            read_only=request["path"] is not None,
            config=request["config"],
        )
        self._connection = connection
        for name, path in request["tables"].items():
            connection.register(name, _kept_table(path))
        for setting in request["settings"]:
            connection.execute(setting)

    def _start(self, request: _Request) -> pa.RecordBatch:
        """No rows, with the schema they will have; labels and texts are in its metadata."""
        connection = self._open_connection()
        connection.execute("SET SESSION timezone = ?", [request["time_zone"]])
        statements = connection.extract_statements(request["sql"])
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise Refused("only_select")
        relation = connection.sql(statements[0])
        labels = list(relation.columns)
        are_texts = request["texts"] or [_is_kept_as_text(kind) for kind in relation.types]
        if any(are_texts):
            relation = connection.sql(_with_texts(request["sql"], are_texts))
        reader = relation.to_arrow_reader(request["rows"])
        self._reader, self._rows = reader, _pieces(reader)
        about = json.dumps({"labels": labels, "texts": are_texts}).encode()
        schema = reader.schema.with_metadata({METADATA: about})
        return pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)

    def _stop(self) -> None:
        reader, self._reader, self._rows = self._reader, None, iter(())
        if reader is not None:
            reader.close()

    def _close(self) -> None:
        self._stop()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _open_connection(self) -> duckdb.DuckDBPyConnection:
        assert self._connection is not None  # noqa: S101  # `open` came before
        return self._connection


def _is_kept_as_text(kind: object) -> bool:
    """Whether a type of DuckDB's, alone or inside another, has no true form in Arrow."""
    return bool(_TEXT.search(str(kind).replace("TIMESTAMP WITH TIME ZONE", "")))


def _with_texts(sql: str, are_texts: Sequence[bool]) -> str:
    """The statement, with the columns that need it cast to text on their way out.

    DuckDB keeps the order of a sub-query's rows, and its parser has read the statement alone.
    """
    names = [f"c{i}" for i in range(len(are_texts))]
    shown = [
        f"CAST({name} AS VARCHAR)" if is_text else name
        for name, is_text in zip(names, are_texts, strict=True)
    ]
    # see above
    return f"SELECT {', '.join(shown)} FROM ({sql}\n) AS q({', '.join(names)})"  # noqa: S608


def _kept_table(path: str) -> Any:  # Any: what DuckDB registers
    """A stored result as DuckDB takes it; decimals of more than 38 digits are text to it."""
    import pyarrow.dataset as ds  # most processes never need it
    import pyarrow.parquet as pq

    dataset = ds.dataset(path, format="parquet")
    wide = [f.name for f in dataset.schema if pa.types.is_decimal256(f.type)]
    if not wide:
        return dataset
    table = pq.read_table(path)
    for name in wide:
        position = table.schema.get_field_index(name)
        table = table.set_column(position, name, table.column(position).cast(pa.string()))
    return table


def _pieces(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches, in parts that are not too large to hand over."""
    for batch in reader:
        size = max(1, batch.num_rows * _PIECE_BYTES // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, size):
            piece = batch.slice(start, size)
            if piece.nbytes > MAX_ROW_BYTES and piece.num_rows == 1:
                raise Refused("row_too_large")
            yield piece


def _streamed(batch: pa.RecordBatch) -> bytes:
    """A batch as an Arrow stream, its schema and dictionaries with it."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue().to_pybytes()


# -- the process ----------------------------------------------------------------------------------


def _receive(requests: BinaryIO, worker: DuckdbWorker, waiting: SimpleQueue[_Request]) -> None:
    """Take requests in; hear an interrupt at once. Without anyone to ask, end."""
    while len(head := requests.read(4)) == 4:
        request: _Request = json.loads(requests.read(struct.unpack(">I", head)[0]))
        if request["op"] == "interrupt":
            worker.interrupt()
        else:
            waiting.put(request)
    os._exit(0)


def _lower_limits(more_bytes: int) -> None:
    reserved = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for what, value in ((resource.RLIMIT_AS, reserved + more_bytes), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(what)
        lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (lowered, lowered))


def main() -> None:
    """Answer what standard input asks."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    if sys.platform == "linux":
        _lower_limits(int(sys.argv[1]))
    worker, waiting = DuckdbWorker(), SimpleQueue[_Request]()
    receiver = threading.Thread(
        target=_receive, args=(sys.stdin.buffer, worker, waiting), daemon=True
    )
    receiver.start()
    while True:
        try:
            kind, content = worker.answer(waiting.get())
        except Exception as error:
            problem = {"type": type(error).__name__, "message": str(error)[:10_000]}
            kind, content = b"e", json.dumps(problem).encode()
        answers.write(kind + struct.pack(">Q", len(content)))
        answers.write(content)
        answers.flush()


if __name__ == "__main__":
    main()
