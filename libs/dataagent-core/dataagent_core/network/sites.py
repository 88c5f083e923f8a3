"""Compares addresses: whether a text names one, which host it is on, where a redirect may lead.

An address that a model composes may carry what the model has read to the server's owner; one that a
person wrote, or that a search found, does not. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import urldefrag

from dataagent_core.errors import HostNotAllowed
from dataagent_core.network.host_policy import Target, parse_target

_NOT_BEFORE: Final = r"(?<![A-Za-z0-9._~%@/:=&?#-])"
_AFTER: Final = r"""(?=[.,;:!?)\]}>'"*_`|]*(?:\s|$|[^\x00-\x7f]))"""
_PORTS: Final = {"http": 80, "https": 443}


def is_named_in(text: str, url: str) -> bool:
    """Whether a text contains the whole address; scheme and a last slash may differ."""
    wanted = "|".join(re.escape(each) for each in _spellings(url))
    if not wanted:
        return False
    return re.search(f"{_NOT_BEFORE}(?:{wanted}){_AFTER}", text) is not None


def _spellings(url: str) -> Iterator[str]:
    """Return the ways people write an address, without the fragment, which is not sent."""
    for given in {url, urldefrag(url).url}:
        scheme, separator, rest = given.partition("://")
        if not separator or scheme.lower() not in _PORTS or not rest:
            continue
        for ending in {rest, rest.removesuffix("/"), f"{rest}/"}:
            yield from (f"https://{ending}", f"http://{ending}", ending)


def is_on(url: str, hosts: Iterable[str]) -> bool:
    """Whether an address is on one of the hosts; `*.example.com` matches all below it."""
    target = _target(url)
    if target is None:
        return False
    names = [name.strip().lower() for name in hosts]
    below = tuple(name[1:] for name in names if name.startswith("*."))
    return target.host in names or (bool(below) and target.host.endswith(below))


def is_same_site(url: str, other: str) -> bool:
    """Whether both addresses have the same host and port, with or without `www.`.

    From http to https is the same, the way back is not.
    """
    here, there = _target(url), _target(other)
    if here is None or there is None:
        return False
    is_downgrade = (here.url.scheme, there.url.scheme) == ("https", "http")
    is_same_port = here.port == there.port or (_is_usual(here) and _is_usual(there))
    names = (here.host.removeprefix("www."), there.host.removeprefix("www."))
    return names[0] == names[1] and is_same_port and not is_downgrade


def is_address(url: str) -> bool:
    """Whether the text is an address at all."""
    return _target(url) is not None


def _target(url: str) -> Target | None:
    try:
        return parse_target(url)
    except HostNotAllowed:
        return None


def _is_usual(target: Target) -> bool:
    return target.port == _PORTS[target.url.scheme]
