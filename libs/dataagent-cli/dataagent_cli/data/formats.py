"""Which format is meant, and a kept result in it as pieces of bytes.

Above: `sql.py`, `export.py`. Below: `rows.py`, core's `export`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, assert_never, cast

from dataagent_cli.data import rows
from dataagent_core.data.results import export
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from dataagent_cli.streams import Streams
    from dataagent_core.data.types import Artifact

TableFormat = Literal["csv", "json", "jsonl", "markdown", "parquet", "xlsx"]
Format = Literal[TableFormat, "table", "png", "svg"]
TABLE_FORMATS = ("csv", "json", "jsonl", "markdown", "parquet", "xlsx")
_BINARY = ("parquet", "xlsx", "png")
_ENDINGS: dict[str, Format] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".md": "markdown",
    ".parquet": "parquet",
    ".png": "png",
    ".svg": "svg",
    ".txt": "table",
    ".xlsx": "xlsx",
}


def resolve_format(named: str | None, output: str | None, *, usual: Format) -> Format:
    """The format that was named, else the one the file's ending says, else the usual one.

    Raises:
        BadInput: the ending says nothing.
    """
    if named is not None:
        return cast("Format", named)  # argparse allows no other
    if output is None:
        return usual
    ending = Path(output).suffix.lower()
    if not ending and Path(output).is_char_device():
        return usual
    if ending not in _ENDINGS:
        raise BadInput(
            f"The ending of {Path(output).name!r} says no format.",
            details={"hint": f"name it with --format, or use one of: {', '.join(_ENDINGS)}."},
        )
    return _ENDINGS[ending]


def refuse_binary_on_terminal(fmt: Format, output: str | None, streams: Streams) -> None:
    """Raise if bytes that are not text would go to a terminal.

    Raises:
        BadInput: they would.
    """
    if fmt in _BINARY and output is None and streams.out.isatty():
        raise BadInput(
            f"{fmt} is not text, and standard output is a terminal.",
            details={"hint": f"name a file: --output result.{fmt}"},
        )


def table_chunks(artifact: Artifact, path: Path, fmt: TableFormat) -> Iterator[bytes]:
    """A table in a format. Blocking: read it in a worker thread."""
    match fmt:
        case "jsonl":
            return rows.jsonl(path, artifact.columns)
        case "markdown":
            return rows.markdown(path, artifact.columns)
        case "csv" | "json" | "parquet" | "xlsx":
            return export(path, artifact.columns, fmt)
        case _:
            assert_never(fmt)
