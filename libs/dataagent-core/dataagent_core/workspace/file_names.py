"""What people call their files: a name to show, never a path. Pure functions.

Files lie under names the server makes; what is kept here of a person's name is for lists, headers
and the model. Above: `uploads.py`. The header that carries a name is the server's to write.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath

MAX_NAME = 200
NO_NAME = "file"
_SEPARATORS = re.compile(r"[\\/]")
_RESERVED = re.compile(r'[:*?"<>|]')
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,10}")
_NOT_WORD = re.compile(r"[^\w-]+")
_MAX_STEM_BYTES = 120


def shown_name(given: str) -> str:
    """The last part of a name, without what hides, reorders or breaks text; never empty."""
    last = _SEPARATORS.split(given)[-1]
    visible = "".join(
        " " if character.isspace() else character
        for character in unicodedata.normalize("NFC", last)
        if character.isspace() or unicodedata.category(character)[0] != "C"
    )
    name = " ".join(_RESERVED.sub("_", visible).split()).strip(" .")
    if len(name) > MAX_NAME:
        extension = extension_of(name)
        name = name[: MAX_NAME - len(extension)].rstrip(" .") + extension
    return name or NO_NAME


def extension_of(name: str) -> str:
    """`.csv` of `Sales.CSV`; empty when there is none worth the name."""
    extension = PurePosixPath(name).suffix
    return extension.lower() if _EXTENSION.fullmatch(extension) else ""


def plain_stem(name: str) -> str:
    """A name without its extension, in letters (of any script), digits, `_` and `-` alone."""
    stem = name.removesuffix(PurePosixPath(name).suffix)
    plain = _NOT_WORD.sub("_", unicodedata.normalize("NFC", stem)).strip("_-")
    short = plain.encode()[:_MAX_STEM_BYTES].decode(errors="ignore")
    return short or NO_NAME
