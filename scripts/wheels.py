"""Builds a wheel of every library into a folder: `python -m scripts.wheels [FOLDER]`.

With the installed hatchling, so without a package index. The server's wheel contains the web app if
it is built (`make wheels` builds it).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.tree import ROOT


def main(arguments: list[str]) -> int:
    """Build them; 1 if one cannot be built."""
    folder = Path(arguments[0] if arguments else ROOT / "dist").resolve()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    projects = sorted(ROOT.glob("libs/*/pyproject.toml"))
    for project in projects:
        built = subprocess.run(
            command, cwd=project.parent, capture_output=True, text=True, check=False
        )
        if built.returncode:
            print(f"{project.parent.name} cannot be built:\n{built.stdout}{built.stderr}")
            return 1
    print(f"{len(projects)} wheels are in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
