"""Data sources: which are registered, who may read them, and their write-only credentials."""

from dataagent_core.data.sources.config_file import (
    ApplyReport,
    ConfiguredSource,
    apply_sources,
    load_sources,
    read_sources,
)
from dataagent_core.data.sources.policies import AttributeStore, AttributeValue, PolicyStore
from dataagent_core.data.sources.secrets import mask_url, scrub_url
from dataagent_core.data.sources.store import SourceStore, visible_to
from dataagent_core.data.sources.types import (
    EVERYONE,
    DefaultPolicy,
    Grant,
    NewSource,
    Source,
    SourceChanges,
    StoredPolicy,
    SubjectKind,
)

__all__ = [
    "EVERYONE",
    "ApplyReport",
    "AttributeStore",
    "AttributeValue",
    "ConfiguredSource",
    "DefaultPolicy",
    "Grant",
    "NewSource",
    "PolicyStore",
    "Source",
    "SourceChanges",
    "SourceStore",
    "StoredPolicy",
    "SubjectKind",
    "apply_sources",
    "load_sources",
    "mask_url",
    "read_sources",
    "scrub_url",
    "visible_to",
]
