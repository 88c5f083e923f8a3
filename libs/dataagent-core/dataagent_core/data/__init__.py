"""A company's data: sources, their catalogue, the guarded path of a query, results, charts.

`service.py` is the entry point. Only plain types are imported here: everything else is heavy.
"""

from dataagent_core.data.types import (
    Artifact,
    Catalogue,
    Column,
    QueryLimits,
    Reader,
    Receipt,
    Table,
)

__all__ = ["Artifact", "Catalogue", "Column", "QueryLimits", "Reader", "Receipt", "Table"]
