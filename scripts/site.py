"""Builds the documentation site from docs/ into site/: `python -m scripts.site`.

Strict: a link or an anchor that leads nowhere, a page that no menu names, and anything that a
reader's browser would fetch from elsewhere fail the build. A page that the menu names and that is
not there is left out of it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.tree import ROOT

_CONFIG = ROOT / "zensical.toml"
_DOCS = ROOT / "docs"
SITE = ROOT / "site"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FETCHED = re.compile(
    r"<(?:script|img|iframe|link(?=[^>]*rel=\"?(?:stylesheet|preload|icon)))[^>]*(?:src|href)=\"?(https?:|//)[^>]*"
)


def named_pages() -> list[str]:
    """The pages that the menu names, in its order."""
    config = tomllib.loads(_CONFIG.read_text(encoding="utf-8"))
    return list(_leaves(config["project"]["nav"]))


def _leaves(menu: list[dict[str, Any]]) -> Iterator[str]:  # Any: a page, or a menu again
    for entry in menu:
        for each in entry.values():
            if isinstance(each, str):
                yield each
            else:
                yield from _leaves(each)


def forgotten_pages() -> list[str]:
    """The pages that no menu names."""
    there = {path.relative_to(_DOCS).as_posix() for path in _DOCS.rglob("*.md")}
    return sorted(there - set(named_pages()))


def present_config() -> str:
    """The configuration, without the menu's lines for pages that are not there."""
    missing = [page for page in named_pages() if not (_DOCS / page).exists()]
    lines = _CONFIG.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not any(f'"{page}"' in line for page in missing)]
    return "\n".join(kept) + "\n"


def fetched_from_elsewhere(site: Path) -> Iterator[str]:
    """What a browser would load from another site, a line each."""
    for path in sorted(site.rglob("*.html")):
        for found in _FETCHED.finditer(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)}: {found[0][:120]}"


def build() -> int:
    """Run the generator on what is there; its exit status, after what it complained about."""
    config = ROOT / ".zensical.toml"  # it wants its folders below its file
    config.write_text(present_config(), encoding="utf-8")
    program = Path(sys.executable).with_name("zensical")
    try:
        built = subprocess.run(
            [str(program), "build", "--clean", "--strict", "--config-file", config.name],
            cwd=ROOT,
            check=False,
            capture_output=True,
            text=True,
        )
    finally:
        config.unlink()
    if built.returncode:
        print(_COLOUR.sub("", built.stdout + built.stderr.partition("Traceback")[0]))
    return built.returncode


def main() -> int:
    """Build the site; 1 if something is wrong with it."""
    complaints = [f"docs/{page}: no menu of zensical.toml names it." for page in forgotten_pages()]
    is_built = build() == 0
    complaints += [f"site/{each}: fetched from elsewhere." for each in fetched_from_elsewhere(SITE)]
    print(*complaints, "wrote site/" if is_built else "The site is not built.", sep="\n")
    return 0 if is_built and not complaints else 1


if __name__ == "__main__":
    sys.exit(main())
