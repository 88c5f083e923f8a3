"""Builds the documentation site from docs/ into site/: `python -m scripts.site`.

Strict: a link or an anchor that leads nowhere, a page that no menu names, a menu's entry without a
page, and anything that a reader's browser would fetch from elsewhere fail the build.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from scripts.tree import ROOT

_CONFIG = ROOT / "zensical.toml"
_DOCS = ROOT / "docs"
_SITE = ROOT / "site"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FETCHED = re.compile(
    r"<(?:script|img|iframe|link(?=[^>]*rel=\"?(?:stylesheet|preload|icon)))"
    r"[^>]*(?:src|href)=\"?(https?:|//)[^>]*"
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


def unlisted_pages() -> list[str]:
    """The pages that no menu names."""
    there = {path.relative_to(_DOCS).as_posix() for path in _DOCS.rglob("*.md")}
    return sorted(there - set(named_pages()))


def missing_pages(named: Iterable[str]) -> list[str]:
    """Those of the named pages that are not there."""
    return [page for page in named if not (_DOCS / page).is_file()]


def external_resources(site: Path) -> Iterator[str]:
    """What a browser would load from another site, a line each."""
    for path in sorted(site.rglob("*.html")):
        for found in _FETCHED.finditer(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)}: {found[0][:120]}"


def build() -> int:
    """Run the generator; its exit status, after what it complained about."""
    program = Path(sys.executable).with_name("zensical")
    built = subprocess.run(
        [str(program), "build", "--clean", "--strict", "--config-file", _CONFIG.name],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    if built.returncode:
        print(_COLOUR.sub("", built.stdout + built.stderr.partition("Traceback")[0]))
    return built.returncode


def main() -> int:
    """Build the site; 1 if something is wrong with it."""
    complaints = [f"docs/{page}: no menu of zensical.toml names it." for page in unlisted_pages()]
    missing = missing_pages(named_pages())
    complaints += [f"docs/{page}: zensical.toml names it, and it is not there." for page in missing]
    is_built = build() == 0
    fetched = external_resources(_SITE)
    complaints += [f"site/{each}: fetched from elsewhere." for each in fetched]
    print(*complaints, "wrote site/" if is_built else "The site is not built.", sep="\n")
    return 0 if is_built and not complaints else 1


if __name__ == "__main__":
    sys.exit(main())
