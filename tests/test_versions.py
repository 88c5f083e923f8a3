"""No dependency is older than the release that mended its published holes.

The floors are those of advisories we know of. No advisory service is asked: it cannot be reached
from everywhere, and a check that passes without an answer is worse than none.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.version import Version

ROOT = Path(__file__).parents[1]

FLOORS = {
    "langgraph": "1.0.10",
    "langgraph-checkpoint": "4.0.0",
    "langgraph-checkpoint-sqlite": "3.0.1",
    "starlette": "0.49.1",
    "python-multipart": "0.0.27",
    "pyjwt": "2.12.0",
    "mcp": "1.23.0",
}
ALWAYS_INSTALLED = {"langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite", "starlette"}
REFUSED = {"python-jose", "passlib"}
"""Unmaintained, with open holes; PyJWT and bcrypt do their work."""


def installed(package: str) -> Version | None:
    try:
        return Version(version(package))
    except PackageNotFoundError:
        return None


def pinned() -> dict[str, list[Version]]:
    """Every version `constraints.txt` names; a package can have one a platform."""
    found: dict[str, list[Version]] = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        name, _, pin = line.partition(";")[0].strip().partition("==")
        found.setdefault(name, []).append(Version(pin))
    return found


@pytest.mark.parametrize("package", sorted(FLOORS))
def test_installed_version_is_at_or_above_its_floor(package: str) -> None:
    present = installed(package)
    if present is None:
        assert package not in ALWAYS_INSTALLED
    else:
        assert present >= Version(FLOORS[package])


@pytest.mark.parametrize("package", sorted(FLOORS))
def test_pinned_version_is_at_or_above_its_floor(package: str) -> None:
    assert min(pinned()[package]) >= Version(FLOORS[package])


@pytest.mark.parametrize("package", sorted(REFUSED))
def test_refused_package_is_nowhere(package: str) -> None:
    assert installed(package) is None
    assert package not in pinned()


def test_installed_versions_are_the_pinned_ones() -> None:
    different = {
        package: (str(installed(package)), [str(pin) for pin in pins])
        for package, pins in pinned().items()
        if installed(package) is not None and installed(package) not in pins
    }
    assert different == {}


def test_the_pins_name_versions_and_nothing_else() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pin = re.compile(r"[a-z0-9-]+==[^\s;@]+(?: ; .+)?")
    assert [line for line in lines if not pin.fullmatch(line)] == []
    assert [line for line in lines if "dataagent" in line or "://" in line] == []
