"""Files become tables: CSV, Excel, Parquet and JSON, in full, in one DuckDB database.

`load_files` refuses a bad file, `load_folder` leaves it out; both read in a child process, so that
a hostile file cannot crash the program. `data/engines` opens the database read-only afterwards.
"""

from dataagent_core.data.files.find import find_files, signature
from dataagent_core.data.files.load import load_files, load_folder
from dataagent_core.data.files.tables import FileLimits, LoadedTable, LoadResult

__all__ = [
    "FileLimits",
    "LoadResult",
    "LoadedTable",
    "find_files",
    "load_files",
    "load_folder",
    "signature",
]
