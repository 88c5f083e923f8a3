"""Read-only engines for the databases a source can be; rows come as Arrow batches."""

from dataagent_core.data.engines.base import (
    Engine,
    EngineOptions,
    SchemaChanged,
    Statement,
    StatementInterrupted,
)
from dataagent_core.data.engines.open import open_engine

__all__ = [
    "Engine",
    "EngineOptions",
    "SchemaChanged",
    "Statement",
    "StatementInterrupted",
    "open_engine",
]
