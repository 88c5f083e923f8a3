"""What came of a query: kept as a Parquet artefact, shown in part, paged, exported, queried again.

`keep` writes rows as they arrive; `ArtifactStore` knows whose they are and until when; `preview` is
what the model sees, `page` what a browser shows, `export` what a person downloads; `open_artifacts`
lets SQL run over them again.
"""

from dataagent_core.data.results.artifacts import ArtifactStore, Draft
from dataagent_core.data.results.export import MEDIA_TYPES, export
from dataagent_core.data.results.keep import keep
from dataagent_core.data.results.kept import Kept, reopen
from dataagent_core.data.results.page import Page, page
from dataagent_core.data.results.places import Place, reading
from dataagent_core.data.results.preview import preview, preview_text
from dataagent_core.data.results.query import ArtifactEngine, catalogue_of, open_artifacts
from dataagent_core.data.results.statistics import ColumnStatistics

__all__ = [
    "MEDIA_TYPES",
    "ArtifactEngine",
    "ArtifactStore",
    "ColumnStatistics",
    "Draft",
    "Kept",
    "Page",
    "Place",
    "catalogue_of",
    "export",
    "keep",
    "open_artifacts",
    "page",
    "preview",
    "preview_text",
    "reading",
    "reopen",
]
