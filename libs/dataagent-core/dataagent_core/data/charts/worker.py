"""The process that draws: one picture a request, over pipes, until its input ends.

It runs as a script, so that the drawing library's V8 can be killed without harm to the server, and
imports nothing of this package. A message is a length in four bytes and that many bytes. A request
is JSON; an answer is one byte, 1 for a picture or 0 for an error text, and the content.
"""

from __future__ import annotations

import json
import struct
import sys
from typing import Any, BinaryIO

import vl_convert

VEGA_LITE = "6.4"


def draw(request: dict[str, Any]) -> bytes:  # Any: the specification is JSON
    """The picture a request asks for."""
    if request["format"] == "svg":
        svg = vl_convert.vegalite_to_svg(
            request["spec"],
            vl_version=VEGA_LITE,
            config=request["config"],
            time_format_locale=request["locale"],
            allowed_base_urls=[],
        )
        return svg.encode()
    return vl_convert.vegalite_to_png(
        request["spec"],
        vl_version=VEGA_LITE,
        config=request["config"],
        scale=request["scale"],
        time_format_locale=request["locale"],
        allowed_base_urls=[],
    )


def answer(message: bytes) -> bytes:
    """The answer to one request."""
    try:
        return b"\x01" + draw(json.loads(message))
    except Exception as error:
        return b"\x00" + str(error).encode()[:2_000]


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests in order until there are no more."""
    while len(head := requests.read(4)) == 4:
        reply = answer(requests.read(struct.unpack(">I", head)[0]))
        answers.write(struct.pack(">I", len(reply)) + reply)
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
