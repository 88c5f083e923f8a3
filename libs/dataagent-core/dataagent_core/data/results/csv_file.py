"""A result as CSV: RFC 4180 in UTF-8, fast, and safe to open in a spreadsheet.

NULL is an empty field and the empty text is `""`, as PostgreSQL and DuckDB write them; in a table
of one column NULL is `""` too, since an empty line would be no row at all. A text that a
spreadsheet would run as a formula gets an apostrophe in front, and so does one that already looks
like such an escape, so that taking one apostrophe away always gives the original; a plain number
is left alone. Columns are rendered and joined a batch at a time by Arrow. Above: `export.py`.
"""

# pyarrow has no type stubs and makes its compute functions at run time: a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from dataagent_core.data.arrow import pa, pc
from dataagent_core.data.results.cells import texts

BOM = b"\xef\xbb\xbf"
_THREADS = 2
_LINE_END = "\r\n"
_FORMULA = "^'*[=+\\-@\\t\\r\\n＝＋－＠]"
_NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_NEEDS_QUOTES = '[",\\r\\n]|^$'
_FIRST_BYTES = [*(byte.encode() for byte in "'=+-@\t\r\n"), b"\xef"]  # EF: full width


def csv_bytes(
    batches: Iterable[pa.RecordBatch], names: Sequence[str], *, has_bom: bool
) -> Iterator[bytes]:
    """The header, then the rows, piece by piece."""
    cells = quote_cells(escape_formulas(pa.array(names, pa.string()))).to_pylist()
    yield (BOM if has_bom else b"") + (",".join(cells) + _LINE_END).encode()
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="csv") as pool:
        yield from _in_order(pool, batches)


def _in_order(pool: ThreadPoolExecutor, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Each batch's lines, rendered a few batches ahead of the reader; Arrow frees the lock."""
    ahead: deque[Future[bytes]] = deque()
    for batch in batches:
        ahead.append(pool.submit(_lines, batch))
        if len(ahead) > _THREADS:
            yield ahead.popleft().result()
    while ahead:
        yield ahead.popleft().result()


def _lines(batch: pa.RecordBatch) -> bytes:
    """The batch's lines: the joined texts lie in one buffer, one after another."""
    cells = [_cells(column) for column in batch.columns]
    if len(cells) == 1:
        cells = [pc.fill_null(cells[0], '""')]
    cells[-1] = pc.binary_join_element_wise(
        cells[-1], _LINE_END, "", null_handling="replace", null_replacement=""
    )
    lines = pc.binary_join_element_wise(*cells, ",", null_handling="replace", null_replacement="")
    _validity, _offsets, data = lines.buffers()
    return data.to_pybytes()


def _cells(column: pa.Array) -> pa.Array:
    """The column as it stands in the file."""
    rendered = texts(column).cast(pa.string())
    kind = column.type
    if _is_number(kind):
        return rendered
    if pa.types.is_temporal(kind):
        return escape_formulas(rendered)
    return _by_value(rendered) if _needs_work(rendered) else rendered


def _needs_work(cells: pa.Array) -> bool:
    return _may_need_quotes(cells) or _may_be_formulas(cells)


def _by_value(cells: pa.Array) -> pa.Array:
    """Escaped and quoted, each value once where values repeat."""
    encoded = cells.dictionary_encode()
    if len(encoded.dictionary) * 2 > len(cells):
        return quote_cells(escape_formulas(cells))
    return quote_cells(escape_formulas(encoded.dictionary)).take(encoded.indices)


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return is_number or types.is_boolean(kind)


def escape_formulas(cells: pa.Array) -> pa.Array:
    """An apostrophe before each text that a spreadsheet would take for a formula."""
    if not _may_be_formulas(cells):
        return cells
    looks_like_formula = pc.match_substring_regex(cells, _FORMULA)
    is_number = pc.match_substring_regex(cells, _NUMBER)
    is_formula = pc.and_not(looks_like_formula, is_number)
    return pc.if_else(is_formula, pc.binary_join_element_wise("'", cells, ""), cells)


def _may_be_formulas(cells: pa.Array) -> bool:
    first_bytes = pc.binary_slice(cells.cast(pa.binary()), 0, 1)
    return bool(pc.any(pc.is_in(first_bytes, pa.array(_FIRST_BYTES))).as_py())


def quote_cells(cells: pa.Array) -> pa.Array:
    """Quotes around each text that needs them: it has a quote, comma or line end, or is empty."""
    if not _may_need_quotes(cells):
        return cells
    needs_quotes = pc.match_substring_regex(cells, _NEEDS_QUOTES)
    doubled = pc.replace_substring(cells, '"', '""')
    return pc.if_else(needs_quotes, pc.binary_join_element_wise('"', doubled, '"', ""), cells)


def _may_need_quotes(cells: pa.Array) -> bool:
    """A look at the bytes of all cells at once, which is much quicker than one at each."""
    if pc.min(pc.binary_length(cells)).as_py() == 0:
        return True
    data = cells.buffers()[2]
    content = b"" if data is None else data.to_pybytes()
    return any(mark in content for mark in (b'"', b",", b"\r", b"\n"))
