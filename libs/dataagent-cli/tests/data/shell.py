"""Runs a command line in this process, on streams that are not a terminal."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

from dataagent_cli.arguments import parse
from dataagent_cli.main import run
from dataagent_cli.streams import Streams

ARTIFACT = re.compile(r"artefact ([0-9a-f]{32})")
SLOW = (
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 10000000000) "
    "SELECT count(*) AS n FROM c"
)


def without_slow_note(text: str) -> str:
    """What was said, without the line that only a slow machine adds."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("still running on "))


@dataclass(frozen=True)
class Outcome:
    code: int
    data: bytes
    err: str

    @property
    def out(self) -> str:
        return self.data.decode()

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def artifact_id(self) -> str:
        found = ARTIFACT.search(self.err)
        assert found, self.err
        return found[1]


def dataagent(*argv: str, piped: bytes | None = None) -> Outcome:
    kept = io.BytesIO()
    out = io.TextIOWrapper(kept, encoding="utf-8", newline="", write_through=True)
    err = io.StringIO()
    source = None if piped is None else io.BytesIO(piped)
    code = run(parse(argv), Streams(out, err, source))
    return Outcome(code, kept.getvalue(), without_slow_note(err.getvalue()))
