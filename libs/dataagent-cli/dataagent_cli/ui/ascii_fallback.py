"""Signs of ours that a terminal's encoding lacks, as plain ASCII.

Only where the locale has no UTF-8: what can be encoded stays as it is, other text gets `?`.
"""

from __future__ import annotations

import codecs

NAME = "dataagent-plain"
"""What the error handler is called; a stream is told it by `errors=`."""
_BRAILLE = range(0x2801, 0x2900)
_SIGNS = {
    **dict.fromkeys("─━", "-"),
    **dict.fromkeys("│┃", "|"),
    **dict.fromkeys("▏▎▍▌▋▊▉█▇▆", "#"),
    **dict.fromkeys("▅▄", "="),
    **dict.fromkeys("▃▂▁", "_"),
    **dict.fromkeys("·•▪●◦", "*"),
    **dict.fromkeys("❯▷", ">"),
    **dict.fromkeys("▤▥☰⧉", "#"),
    **dict.fromkeys("⌕✻✎⇅", "*"),
    "…": "...",
    "≈": "~",
    "└": "`",
    "→": "->",
    "−": "-",
    "✓": "ok",
    "✗": "x",
    "↵": "\\n",
    "░": ":",
}


def register_ascii_fallback() -> str:
    """Make the handler known to Python, and give its name."""
    codecs.register_error(NAME, ascii_fallback)
    return NAME


def ascii_fallback(error: UnicodeError) -> tuple[str, int]:
    """What stands for the characters that could not be encoded, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_plain(sign) for sign in missing), error.end


def _plain(sign: str) -> str:
    return _SIGNS.get(sign, "*" if ord(sign) in _BRAILLE else "?")
