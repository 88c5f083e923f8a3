"""Commands over data: from the shell, and after a slash."""

from importlib import import_module

TYPE_CHECKING = False  # typing's, without the time it takes to load typing
if TYPE_CHECKING:
    from dataagent_cli.data.dispatch import dispatch_data

__all__ = ["dispatch_data"]


def __getattr__(name: str) -> object:
    """Load the commands on first use: they load DuckDB."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.dispatch"), name)
