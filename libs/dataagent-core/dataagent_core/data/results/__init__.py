"""Results of queries: stored as Parquet artefacts, previewed, paged, exported, queried again.

`write_result` writes rows as they arrive; `ArtifactStore` knows whose they are and until when;
`preview` is what the model sees, `page` what a browser shows, `export` what a person downloads;
`open_artifacts` lets SQL run over them again.
"""

from dataagent_core.data.results.artifacts import (
    ArtifactDraft,
    ArtifactSlot,
    ArtifactStore,
    translate_missing_file,
)
from dataagent_core.data.results.export import MEDIA_TYPES, export
from dataagent_core.data.results.page import ResultPage, page
from dataagent_core.data.results.preview import preview, preview_text
from dataagent_core.data.results.query import ArtifactEngine, catalogue_of, open_artifacts
from dataagent_core.data.results.stored_result import (
    ColumnStatistics,
    StoredResult,
    load_stored_result,
)
from dataagent_core.data.results.writer import write_result

__all__ = [
    "MEDIA_TYPES",
    "ArtifactDraft",
    "ArtifactEngine",
    "ArtifactSlot",
    "ArtifactStore",
    "ColumnStatistics",
    "ResultPage",
    "StoredResult",
    "catalogue_of",
    "export",
    "load_stored_result",
    "open_artifacts",
    "page",
    "preview",
    "preview_text",
    "translate_missing_file",
    "write_result",
]
