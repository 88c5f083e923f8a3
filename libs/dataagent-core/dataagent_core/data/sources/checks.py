"""Checks what a source may be called and contain.

Each check returns the value or raises `BadInput`, whose message names the thing and the way out. A
credential is never quoted.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dataagent_core.data.sources.secrets import parse_url
from dataagent_core.data.sources.types import DefaultPolicy, Grant, NewSource
from dataagent_core.data.types import QueryLimits
from dataagent_core.errors import BadInput
from dataagent_core.storage.database import is_storable

_NAME = re.compile(r"\w[\w-]{0,63}")
_LIKE_AN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MAX_DESCRIPTION = 4000
_MAX_PATH = 4096
_MAX_SUBJECT = 64
_MAX_JSON = 256 * 1024


def validate_name(name: str) -> str:
    """The name in its one spelling (Unicode NFC)."""
    spelled = unicodedata.normalize("NFC", name)
    if not _NAME.fullmatch(spelled) or not is_storable(spelled):
        raise BadInput(
            "A data source's name has 1 to 64 letters (of any script), digits, '_' or '-', and "
            "does not start with '-'."
        )
    if _LIKE_AN_ID.fullmatch(spelled.lower()):
        raise BadInput("A data source's name may not look like an id. Choose a word.")
    return spelled


def validate_description(description: str) -> str:
    """The description."""
    if len(description) > _MAX_DESCRIPTION or not is_storable(description):
        raise BadInput(f"A description has at most {_MAX_DESCRIPTION} storable characters.")
    return description


def validate_time_zone(name: str) -> str:
    """The zone's name, of the IANA database."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise BadInput(
            f"There is no time zone {name[:60]!r}. Use a name such as UTC or Asia/Shanghai."
        ) from error
    return name


def validate_limits(limits: QueryLimits) -> QueryLimits:
    """The limits, each above zero."""
    for field in ("max_rows", "max_bytes", "timeout_seconds"):
        value = getattr(limits, field)
        if not 0 < value <= 2**53:
            raise BadInput(f"The limit {field} must be above zero.")
    return limits


def validate_default_policy(value: str) -> DefaultPolicy:
    """`allow` or `deny`."""
    match value:
        case "allow" | "deny":
            return value
        case _:
            raise BadInput("default_policy is 'allow' or 'deny'.")


def validate_grants(grants: Iterable[Grant]) -> tuple[Grant, ...]:
    """The grants, each once, in a fixed order."""
    for grant in grants:
        if grant.subject_kind not in ("everyone", "user", "tenant", "agent"):
            raise BadInput("A grant is for everyone, or for a user, a tenant or an agent.")
        if grant.subject_kind == "everyone":
            if grant.subject_id:
                raise BadInput("A grant for everyone names no one.")
        elif not _is_subject(grant.subject_id):
            raise BadInput(
                f"A grant for a {grant.subject_kind} needs an id of 1 to {_MAX_SUBJECT} characters."
            )
    return tuple(sorted(set(grants), key=lambda grant: (grant.subject_kind, grant.subject_id)))


def _is_subject(subject_id: str) -> bool:
    return bool(subject_id.strip()) and len(subject_id) <= _MAX_SUBJECT and is_storable(subject_id)


def validate_location(new: NewSource) -> None:
    """Raise unless the source says where it is in exactly one way that can be understood."""
    given = [new.url is not None, new.folder is not None, bool(new.files)]
    if given.count(True) != 1:
        raise BadInput(
            f"Data source {new.name!r} needs exactly one of: a url, a folder, a list of files."
        )
    if new.url is not None:
        parse_url(new.url)
    for path in (*new.files, *([] if new.folder is None else [new.folder])):
        if not path.strip() or len(path) > _MAX_PATH or not is_storable(path):
            raise BadInput("A path has 1 to 4096 storable characters.")


def validate_new_source(new: NewSource, *, has_place: bool = True) -> NewSource:
    """The description of a source with every value checked.

    Without `has_place` the location of the data is not given and stays as it was.

    Raises:
        BadInput: a value does not do; the message says which.
    """
    if has_place:
        validate_location(new)
    return NewSource(
        name=validate_name(new.name),
        url=new.url,
        folder=new.folder,
        files=new.files,
        description=validate_description(new.description),
        default_policy=validate_default_policy(new.default_policy),
        time_zone=validate_time_zone(new.time_zone),
        limits=validate_limits(new.limits),
        grants=validate_grants(new.grants),
    )


def validate_json(value: Any, what: str) -> Any:
    """The value as every database gives it back: plain JSON.

    Raises:
        BadInput: it has something JSON has not, or is too large.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"{what} may hold text, numbers, true, false, lists and objects.") from error
    if len(text) > _MAX_JSON or "\\u0000" in text or not is_storable(text):
        raise BadInput(f"{what} is too large or has characters that cannot be stored.")
    return json.loads(text)
