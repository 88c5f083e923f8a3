"""A result as JSON: an array of objects, one a line.

Values are those of `cells.py`: decimals, dates and bytes are text that loses nothing, integers are
numbers with all their digits, NULL is `null`. Columns are rendered and joined a batch at a time by
Arrow; only texts with something to escape pass through Python. Above: `export.py`.
"""

# pyarrow has no type stubs and makes its compute functions at run time: a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from dataagent_core.data.arrow import pa, pc
from dataagent_core.data.results.cells import json_text, json_values, texts

_ESCAPED = re.compile(rb'[\x00-\x1f"\\]')


def json_bytes(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[bytes]:
    """The array, piece by piece."""
    keys = [json.dumps(name, ensure_ascii=False) + ":" for name in names]
    is_empty = True
    for batch in batches:
        if batch.num_rows:
            lines = _lines(batch, keys)
            yield b"[\n" + lines[2:] if is_empty else lines
            is_empty = False
    yield b"[]\n" if is_empty else b"\n]\n"


def _lines(batch: pa.RecordBatch, keys: Sequence[str]) -> bytes:
    """The rows, a comma and a line end before each: they lie in one buffer, one after another."""
    parts: list[pa.Array | str] = []
    for position, (key, column) in enumerate(zip(keys, batch.columns, strict=True)):
        before = ",\n{" if position == 0 else ","
        parts += [before + key, _cells(column)]
    joined = pc.binary_join_element_wise(
        *parts, "}", "", null_handling="replace", null_replacement="null"
    )
    _validity, _offsets, data = joined.buffers()
    return data.to_pybytes()


def _cells(column: pa.Array) -> pa.Array:
    """The column as JSON text; NULL stays NULL."""
    kind = column.type
    types = pa.types
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_null(kind):
        return texts(column)
    is_number = types.is_floating(kind) and pc.all(pc.is_finite(column)).as_py() is not False
    if is_number:
        return texts(column)
    rendered = texts(column)
    is_text = types.is_string(kind) or types.is_large_string(kind)
    if types.is_nested(kind) or types.is_floating(kind) or (is_text and _has_escapes(rendered)):
        values = [None if value is None else json_text(value) for value in json_values(column)]
        return pa.array(values, pa.string())
    if types.is_timestamp(kind):
        rendered = pc.replace_substring(rendered, " ", "T", max_replacements=1)
    return pc.binary_join_element_wise('"', rendered.cast(pa.string()), '"', "")


def _has_escapes(cells: pa.Array) -> bool:
    data = cells.buffers()[2]
    return data is not None and _ESCAPED.search(data) is not None
