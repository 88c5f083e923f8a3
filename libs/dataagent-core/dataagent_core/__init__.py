"""DataAgent's core: a user's message becomes a run, and nothing it says is lost.

Import from the rooms (`dataagent_core.events`, `dataagent_core.runs`, …); this module stays empty
so that a program which needs only plain data does not load LangChain.
"""

from importlib.metadata import version

__version__ = version("dataagent-core")
