"""Writes web/src/api/schema.d.ts, the types of every route, from the server's OpenAPI document.

`python -m scripts.web_schema` writes the file; with `--check` it only says whether the file in the
tree is the one the server would give. Needs the web app's packages (`make web-packages`).
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
from scripts.tree import ROOT, WEB_SCHEMA

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
    """The file as it should be.

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
    """Write the file, or compare it."""
    if not _GENERATOR.exists():
        print("The web app's packages are not installed.\nhint: make web-packages")
        return 1
    text = types()
    shown = WEB_SCHEMA.relative_to(ROOT)
    if "--check" not in arguments:
        WEB_SCHEMA.parent.mkdir(parents=True, exist_ok=True)
        WEB_SCHEMA.write_text(text, encoding="utf-8")
        print(f"wrote {shown}")
        return 0
    if WEB_SCHEMA.exists() and WEB_SCHEMA.read_text(encoding="utf-8") == text:
        return 0
    print(f"{shown} is not what the server says.\nhint: make web-schema")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
