"""The databases a source can be: one read-only engine each, rows as Arrow batches."""

from dataagent_core.data.engines.base import (
    Engine,
    EngineOptions,
    Interrupted,
    SchemaChanged,
    Statement,
)
from dataagent_core.data.engines.open import open_engine

__all__ = ["Engine", "EngineOptions", "Interrupted", "SchemaChanged", "Statement", "open_engine"]
