"""The SQL database: connection, tables, migrations."""

from dataagent_core.storage.database import Database, Unit, open_database

__all__ = ["Database", "Unit", "open_database"]
