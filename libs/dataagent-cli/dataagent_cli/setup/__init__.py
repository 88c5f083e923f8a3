"""`init`, `doctor` and `completion`: setting up the program on this machine."""

from importlib import import_module

TYPE_CHECKING = False  # typing's, without the time it takes to load typing
if TYPE_CHECKING:
    from dataagent_cli.setup.dispatch import dispatch_setup

__all__ = ["dispatch_setup"]


def __getattr__(name: str) -> object:
    """Load the commands on first use: they load the settings."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.dispatch"), name)
