"""Files become tables: CSV, Excel, Parquet and JSON, in full, in one DuckDB database.

`load_files` is the door, `load_folder` the one that leaves out bad files; both read in a child
process, so that a hostile file cannot take the program down with it. Above:
`data/source_engines.py`. Below: the files, and the database that `data/engines` opens read-only
afterwards.
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
