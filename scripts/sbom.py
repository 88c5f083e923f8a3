"""What is inside: `python -m scripts.sbom [FOLDER]` writes two CycloneDX documents.

`dataagent.cdx.json` names every Python package that ours bring with all their extras, as installed
here at the pinned versions, with licences; `dataagent-web.cdx.json` what the web app is built from.
Tools of development are in neither.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.tree import ROOT

_OURS = "dataagent"


def main(arguments: list[str]) -> int:
    """Write them; 1 if one cannot be made."""
    folder = Path(arguments[0] if arguments else ROOT / "dist").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        made = {"dataagent.cdx.json": of_python(), "dataagent-web.cdx.json": of_web()}
    except subprocess.CalledProcessError as error:
        print(f"{error.cmd[0]} cannot say what is installed:\n{error.stderr}")
        return 1
    for name, document in made.items():
        (folder / name).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        print(f"{name}: {len(document['components'])} components")
    return 0


def of_python() -> dict[str, Any]:
    """The environment's document, without what only development needs."""
    document = _said(
        sys.executable, "-m", "cyclonedx_py", "environment", sys.executable,
        "--pyproject", str(ROOT / "libs" / _OURS / "pyproject.toml"), "--output-reproducible",
        "--no-validate",
    )  # fmt: skip
    wanted = required_packages()
    document = _only(document, lambda each: canonicalize_name(each["name"]) in wanted)
    for each in document["components"]:  # an editable package is known by a path of this machine
        if each["name"].startswith(_OURS):
            each.pop("externalReferences", None)
    return document


def of_web() -> dict[str, Any]:
    """The document of npm itself, without what the lock file calls development's.

    npm can leave that out itself, and React with it: a tool of development has it as a peer.
    """
    web = ROOT / "web"
    document = _said(
        "npm", "--prefix", str(web), "sbom", "--sbom-format=cyclonedx", "--offline",
        "--no-update-notifier",
    )  # fmt: skip
    packages = json.loads((web / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    shipped = {
        (path.rpartition("node_modules/")[2], each["version"])
        for path, each in packages.items()
        if not (each.get("dev") or each.get("devOptional"))
    }
    return _only(document, lambda each: (each["name"], each["version"]) in shipped)


def required_packages() -> set[str]:
    """The names of all packages that ours need, with all extras of ours."""
    found: set[str] = set()
    open_ends = [(path.name, _extras(path.name)) for path in sorted(ROOT.glob("libs/*"))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while open_ends:
        name, extras = open_ends.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        found.add(name)
        open_ends += [
            (canonicalize_name(needed.name), frozenset(needed.extras))
            for needed in map(Requirement, distribution(name).requires or ())
            if _is_needed(needed, extras)
        ]
    return found


def _extras(name: str) -> frozenset[str]:
    return frozenset(distribution(name).metadata.get_all("Provides-Extra") or ())


def _is_needed(needed: Requirement, extras: frozenset[str]) -> bool:
    """Whether this machine takes it for one of the extras, or in any case."""
    return needed.marker is None or any(
        needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)
    )


def _only(document: dict[str, Any], is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The document with some of its components, and what they depend on among those."""
    components = [each for each in document["components"] if is_wanted(each)]
    known = {each["bom-ref"] for each in components} | {
        document["metadata"]["component"]["bom-ref"]
    }
    dependencies = [
        {**each, "dependsOn": [ref for ref in each.get("dependsOn", ()) if ref in known]}
        for each in document["dependencies"]
        if each["ref"] in known
    ]
    return {**document, "components": components, "dependencies": dependencies}


def _said(*command: str) -> Any:
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
