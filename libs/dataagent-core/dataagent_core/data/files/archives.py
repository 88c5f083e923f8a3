"""What a zip archive says of itself, looked at before anyone unpacks it: office files are archives.

Nothing is unpacked; the sizes are those of its directory, which a reader has to hold it to. Used by
`kinds.py` for tables and by `documents/kinds.py` for text.
"""

from __future__ import annotations

import zipfile
from typing import BinaryIO, Final

from dataagent_core.errors import BadInput, LimitReached

MAX_ENTRIES: Final = 10_000
_SMALL_BYTES: Final = 64 * 1024 * 1024


def check_archive(
    stream: BinaryIO, name: str, byte_size: int, *, max_unpacked: int, max_ratio: int, advice: str
) -> set[str]:
    """The names of the parts of an archive of so many bytes. `advice` ends a refusal for its size.

    Raises:
        BadInput: it is broken or encrypted.
        LimitReached: it unpacks to more than is allowed, or than can be true of so few bytes.
    """
    try:
        entries = zipfile.ZipFile(stream).infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        # zipfile has not implemented every kind of packing there is
        raise BadInput(f"'{name}' is broken or cut off: {error}. Save it again.") from error
    if any(entry.flag_bits & 1 for entry in entries):
        raise BadInput(f"'{name}' is encrypted. Save it without a password.")
    unpacked = sum(entry.file_size for entry in entries)
    is_bomb = unpacked > _SMALL_BYTES and unpacked > max_ratio * byte_size
    if is_bomb or unpacked > max_unpacked or len(entries) > MAX_ENTRIES:
        raise LimitReached(
            f"'{name}' unpacks to {unpacked:,} bytes in {len(entries):,} parts; {max_unpacked:,} "
            f"bytes in {MAX_ENTRIES:,} parts are allowed. {advice}"
        )
    return {entry.filename for entry in entries}
