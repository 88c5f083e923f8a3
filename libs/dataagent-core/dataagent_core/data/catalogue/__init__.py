"""What a source holds: built from it, stored, refreshed, searched and described as text."""

from dataagent_core.data.catalogue.build import Comments, build, structure_hash
from dataagent_core.data.catalogue.cache import (
    CatalogueCache,
    CatalogueState,
    CatalogueStore,
    drift,
)
from dataagent_core.data.catalogue.describe import describe, find_table, fits, list_tables_text
from dataagent_core.data.catalogue.search import Hit, search

__all__ = [
    "CatalogueCache",
    "CatalogueState",
    "CatalogueStore",
    "Comments",
    "Hit",
    "build",
    "describe",
    "drift",
    "find_table",
    "fits",
    "list_tables_text",
    "search",
    "structure_hash",
]
