"""Writes the reference pages: `python -m scripts.reference`.

With `--check` it only says whether the pages in the tree are those the code would give.
"""

from __future__ import annotations

import os
import sys

from scripts.reference import api, commands, events, settings
from scripts.tree import ROOT

FOLDER = ROOT / "docs/reference"
PAGES = {
    "api.md": api.page,
    "commands.md": commands.page,
    "events.md": events.page,
    "settings.md": settings.page,
}


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them."""
    os.environ["COLUMNS"] = "100"  # what argparse writes does not depend on a terminal
    texts = {FOLDER / name: page() for name, page in PAGES.items()}
    if "--check" not in arguments:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
        return 0
    different = [
        path
        for path, text in texts.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in different:
        print(f"{path.relative_to(ROOT)} is not what the code says.\nhint: make docs")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
