"""The contracts of `.importlinter` hold, and each of them is able to break.

A contract that can no longer fail (a comma list, a renamed module) looks exactly like one that is
kept. So every contract is tried on a copy of the packages with a forbidden import planted in it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / ".importlinter"

PLANTS = {
    "core-layers": ("dataagent_core/events", "dataagent_core.config"),
    "core-alone": ("dataagent_core/errors.py", "dataagent_client"),
    "plain-data": ("dataagent_protocol/hitl.py", "pydantic"),
    "whole-to-programs": ("dataagent", "dataagent_client"),
    "cli-to-core": ("dataagent_cli", "dataagent_client"),
    "server-to-core": ("dataagent_server", "dataagent_client"),
    "server-layers": ("dataagent_server/models", "dataagent_server.api"),
    "client-to-plain-data": ("dataagent_client", "dataagent_core.events"),
    "harbor-to-client": ("dataagent_harbor", "dataagent_core.events"),
    "demo-to-client": ("dataagent_server_demo", "dataagent_core.events"),
}
"""For each contract: where to plant, and the import that must not be there."""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """All packages, side by side, without their tests."""
    for package in ROOT.glob("libs/*/dataagent*"):
        shutil.copytree(
            package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(CONFIG, tmp_path)
    return tmp_path


def lint(where: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the linter on the copy: its packages come before the installed ones."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    return subprocess.run(
        [*command, *arguments],
        cwd=where,
        env={**os.environ, "PYTHONPATH": str(where)},
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )


def plant(where: Path, place: str, module: str) -> None:
    """Add an import to a module, or to a package's `__init__`. What is not there yet is made."""
    imported = where / module.replace(".", "/")
    if module.startswith("dataagent_") and not imported.with_suffix(".py").exists():
        _ensure_package(imported)
    target = where / place
    if target.suffix != ".py":
        target = _ensure_package(target)
    with target.open("a", encoding="utf-8") as file:
        file.write(f"\nimport {module}\n")


def _ensure_package(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    init = folder / "__init__.py"
    init.touch()
    return init


def contracts() -> ConfigParser:
    parser = ConfigParser()
    parser.read(CONFIG, encoding="utf-8")
    return parser


def contract_ids() -> set[str]:
    prefix = "importlinter:contract:"
    return {name.removeprefix(prefix) for name in contracts().sections() if prefix in name}


@requirement("R1.5", "P22")
def test_the_packages_as_they_are_keep_every_contract(copy: Path) -> None:
    result = lint(copy)
    assert result.returncode == 0, result.stdout
    assert f"Contracts: {len(contract_ids())} kept, 0 broken." in result.stdout


@requirement("R1.5", "P22")
@pytest.mark.parametrize("contract", sorted(PLANTS))
def test_a_planted_import_breaks_its_contract(copy: Path, contract: str) -> None:
    plant(copy, *PLANTS[contract])
    result = lint(copy, "--contract", contract)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "0 kept, 1 broken" in result.stdout


def test_every_contract_has_a_planted_import() -> None:
    assert contract_ids() == set(PLANTS)


@requirement("R1.5", "P22")
@pytest.mark.parametrize("upper", ["cli", "server", "client", "harbor", "server_demo"])
def test_the_core_may_import_no_program(copy: Path, upper: str) -> None:
    plant(copy, "dataagent_core/config", f"dataagent_{upper}")
    result = lint(copy, "--contract", "core-alone")
    assert f"dataagent_core is not allowed to import dataagent_{upper}" in result.stdout


def test_no_package_imports_the_one_above_it(copy: Path) -> None:
    listed = contracts()["importlinter:contract:core-layers"]["layers"]
    layers = [re.findall(r"\w+", line) for line in listed.splitlines() if line]
    packages = [layer[0] for layer in layers if (copy / "dataagent_core" / layer[0]).is_dir()]
    pairs = list(zip(packages[1:], packages, strict=False))
    assert len(pairs) >= 5
    for lower, upper in pairs:
        plant(copy, f"dataagent_core/{lower}", f"dataagent_core.{upper}")
    report = lint(copy, "--contract", "core-layers").stdout
    for lower, upper in pairs:
        assert f"dataagent_core.{lower} -> dataagent_core.{upper}" in report


def test_a_folder_that_no_contract_names_fails(copy: Path) -> None:
    plant(copy, "dataagent_core/utils", "json")
    assert lint(copy, "--contract", "core-layers").returncode == 1


def test_no_value_is_a_comma_list() -> None:
    parser = contracts()
    with_comma = [
        f"{section}.{key}"
        for section in parser.sections()
        for key, value in parser[section].items()
        if key != "name" and "," in value
    ]
    assert with_comma == []
