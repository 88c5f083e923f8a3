"""DataAgent's core: a user's message becomes a run, and nothing it says is lost.

Import from the rooms (`dataagent_core.events`, `dataagent_core.runs`, …); this module stays empty
so that a program which needs only plain data does not load LangChain. Its version is looked up when
it is asked for: each process that reads a file begins with this module.
"""


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("dataagent-core")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
