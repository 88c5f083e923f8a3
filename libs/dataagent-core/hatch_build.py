"""Puts the skills and packages of the repository into what is built.

They lie at its root, where people look for them and add to them; a wheel and a source distribution
carry a copy in `dataagent_core/_shipped/`. An editable installation has none and uses the
repository's; a wheel that is built from a source distribution takes the copy that is there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHIPPED = {"skills/custom": "skills", "packages": "packages"}


class ShippedFolders(BuildHookInterface[Any]):
    """The hook hatchling calls."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the folders to be copied."""
        here = Path(self.root)
        if version == "editable" or (here / "dataagent_core" / "_shipped").is_dir():
            return
        for source, target in SHIPPED.items():
            folder = here.parents[1] / source
            build_data["force_include"][str(folder)] = f"dataagent_core/_shipped/{target}"
