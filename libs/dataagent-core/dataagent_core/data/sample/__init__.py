"""The sample database: a music shop with Chinook's schema and invented contents.

For a newcomer to ask questions of, and for tests that know the answers. Above: `data/sources`,
which registers it on first start. Below: SQLite.
"""

from dataagent_core.data.sample.schema import SAMPLE_COMMENTS
from dataagent_core.data.sample.shop import create_sample

__all__ = ["SAMPLE_COMMENTS", "create_sample"]
