"""The sample database: a music shop with Chinook's schema and invented contents.

For a first look at the product, and for tests that know the answers.
"""

from dataagent_core.data.sample.schema import SAMPLE_COMMENTS
from dataagent_core.data.sample.shop import create_sample

__all__ = ["SAMPLE_COMMENTS", "create_sample"]
