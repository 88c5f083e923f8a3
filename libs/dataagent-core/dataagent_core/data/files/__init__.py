"""Files become tables: CSV, Excel, Parquet and JSON, in full, in one DuckDB database.

`load_files` refuses a bad file, `load_folder` leaves it out; both read in a child process, so that
a hostile file cannot crash the program. `data/engines` opens the database read-only afterwards.
"""

from dataagent_core.data.files.load import find_files, load_files, load_folder, signature
from dataagent_core.data.files.types import FileLimits, LoadedTable, LoadResult

__all__ = [
    "FileLimits",
    "LoadResult",
    "LoadedTable",
    "find_files",
    "load_files",
    "load_folder",
    "signature",
]
