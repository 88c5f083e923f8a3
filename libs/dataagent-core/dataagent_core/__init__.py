"""DataAgent's core: a user's message becomes a run, whose events are stored as they happen.

Import from the packages (`dataagent_core.events`, `dataagent_core.runs`, …). This module is almost
empty so that a program which needs only plain data does not load LangChain; the version is looked
up on first use because every process that reads a file imports this module.
"""


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("dataagent-core")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
