"""Home directories as a first start leaves them: tables and sample database are made once.

Migrating an empty database and generating the sample cost more than most tests.
Both are made by the product itself, once in a process, and copied. A test of a first start, or of
the migrations, uses an empty directory instead.
"""

from __future__ import annotations

import asyncio
import atexit
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from dataagent_core.data.sample import create_sample
from dataagent_core.storage import open_database
from dataagent_core.storage.migrate import migrate


def prepared_home(home: Path) -> Path:
    """The home directory, with tables and sample in it unless there is something already."""
    if not home.exists():
        shutil.copytree(_first_home(), home)
    return home


@cache
def _first_home() -> Path:
    home = Path(tempfile.mkdtemp(prefix="dataagent-home-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    create_sample(home / "sample" / "chinook.sqlite")
    with ThreadPoolExecutor(1) as thread:  # the caller may be in an event loop
        thread.submit(asyncio.run, _make_tables(home / "dataagent.db")).result()
    return home


async def _make_tables(path: Path) -> None:
    database = open_database(f"sqlite:///{path}")
    try:
        await migrate(database)
    finally:
        await database.close()
