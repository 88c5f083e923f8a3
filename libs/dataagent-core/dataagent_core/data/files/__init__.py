"""Files become tables: CSV, Excel, Parquet and JSON, in full, in one DuckDB database.

`load_files` is the door; it reads in a child process, so that a hostile file cannot take the
program down with it. Above: `data/sources`. Below: the files, and the database that
`data/engines` opens read-only afterwards.
"""

from dataagent_core.data.files.find import find_files, signature
from dataagent_core.data.files.load import load_files
from dataagent_core.data.files.tables import FileLimits, LoadedTable

__all__ = ["FileLimits", "LoadedTable", "find_files", "load_files", "signature"]
