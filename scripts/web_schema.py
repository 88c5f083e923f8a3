"""Writes the web app's types of what the server sends, from the server's own definitions.

`web/src/api/schema.d.ts` has every route, from the OpenAPI document, and
`web/src/events/schema.d.ts` every event of a run, from the protocol package. With `--check` it
compares them with the files in the tree. Needs the web app's packages (`make web-packages`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

from scripts.reference import api
from scripts.tree import ROOT, WEB_EVENTS, WEB_SCHEMA
from scripts.web_events import event_types

_WORDS = {"description", "summary", "title", "example", "examples"}
_GENERATOR = ROOT / "web/node_modules/.bin/openapi-typescript"


def document() -> str:
    """Of the OpenAPI document, only what types are made of.

    Words and examples are read in `/docs`, and a refusal has the same shape everywhere.
    """
    whole = deepcopy(api.document())
    for operations in whole["paths"].values():
        for operation in operations.values():
            answers = operation["responses"]
            operation["responses"] = {status: answers[status] for status in answers if status < "4"}
    return json.dumps(_types_only(whole))


def _types_only(part: Any, *, are_names: bool = False) -> Any:
    """The part without words and examples; `are_names`: its keys are a schema's own fields."""
    if isinstance(part, list):
        return [_types_only(each) for each in cast("list[Any]", part)]
    if not isinstance(part, dict):
        return part
    return {
        key: _types_only(value, are_names=key == "properties")
        for key, value in cast("dict[str, Any]", part).items()
        if are_names or key not in _WORDS
    }


def types() -> str:
    """The types of the routes.

    Raises:
        subprocess.CalledProcessError: the generator rejected the document.
    """
    with tempfile.TemporaryDirectory(prefix="dataagent-schema-") as folder:
        described = Path(folder, "openapi.json")
        described.write_text(document(), encoding="utf-8")
        written = Path(folder, "schema.d.ts")
        command = [str(_GENERATOR), str(described), "--output", str(written)]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return written.read_text(encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Write the files, or compare them."""
    if not _GENERATOR.exists():
        print("The web app's packages are not installed.\nhint: make web-packages")
        return 1
    is_check = "--check" in arguments
    files = {WEB_SCHEMA: types(), WEB_EVENTS: event_types()}
    old = [path for path, text in files.items() if not _has(path, text)]
    for path in old:
        shown = path.relative_to(ROOT)
        if is_check:
            print(f"{shown} is not what the server says.\nhint: make web-schema")
        else:
            path.write_text(files[path], encoding="utf-8")
            print(f"wrote {shown}")
    return 1 if is_check and old else 0


def _has(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
