"""The documents of `make sbom` list the shipped packages, and no others."""

from __future__ import annotations

import json
import subprocess
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft7Validator, Registry
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.tree import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("sbom")
    subprocess.run([ROOT / "scripts/sbom", folder], check=True)
    return {path.name: json.loads(path.read_text()) for path in folder.iterdir()}


def versions(document: dict[str, Any]) -> dict[str, str]:
    return {canonicalize_name(each["name"]): each["version"] for each in document["components"]}


def pinned() -> dict[str, str]:
    lines = map(Requirement, (ROOT / "constraints.txt").read_text().splitlines())
    return {
        canonicalize_name(each.name): str(each.specifier).removeprefix("==")
        for each in lines
        if each.marker is None or each.marker.evaluate()
    }


def test_both_documents_are_valid_cyclonedx(documents: dict[str, Any]) -> None:
    for document in documents.values():
        folder = Path(str(resources.files("cyclonedx.schema"))) / "_res"
        schemas = {
            name: json.loads((folder / f"{name}.SNAPSHOT.schema.json").read_text())
            for name in (f"bom-{document['specVersion']}", "spdx", "jsf-0.82")
        }
        near = "http://cyclonedx.org/schema/{}.SNAPSHOT.schema.json"
        found = Registry([(near.format(name), schema) for name, schema in schemas.items()])
        problems = Draft7Validator(schemas.pop(next(iter(schemas))), registry=found)
        assert not [str(each) for each in problems.iter_errors(document)]


def test_every_package_that_a_library_names_is_listed_at_its_pin(documents: dict[str, Any]) -> None:
    listed, pins = versions(documents["dataagent.cdx.json"]), pinned()
    for project in ROOT.glob("libs/*/pyproject.toml"):
        table = tomllib.loads(project.read_text())["project"]
        extras = table.get("optional-dependencies", {}).values()
        for line in [*table.get("dependencies", ()), *(each for names in extras for each in names)]:
            needed = Requirement(line)
            name = canonicalize_name(needed.name)
            if name != "dataagent" and (needed.marker is None or needed.marker.evaluate()):
                assert name in listed, name
    for name, version in listed.items():
        if not name.startswith("dataagent"):
            assert pins[name] == version


def test_development_packages_are_left_out(documents: dict[str, Any]) -> None:
    python, web = documents["dataagent.cdx.json"], documents["dataagent-web.cdx.json"]
    assert not versions(python).keys() & {"pytest", "pyright", "ruff", "cyclonedx-bom", "hatchling"}
    assert not versions(web).keys() & {"vite", "vitest", "typescript", "eslint"}
    assert versions(web).keys() >= {"react", "react-dom", "vega", "react-markdown"}


def test_most_packages_have_a_licence_and_no_path_of_this_machine_is_named(
    documents: dict[str, Any],
) -> None:
    for document in documents.values():
        with_licence = [each for each in document["components"] if each.get("licenses")]
        assert len(with_licence) > 0.9 * len(document["components"])
        text = json.dumps(document)
        assert str(ROOT) not in text
        assert str(Path.home()) not in text
