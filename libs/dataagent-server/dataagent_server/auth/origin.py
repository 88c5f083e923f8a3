"""Where a browser's request comes from. Pure.

A cookie goes along with whatever a page of any site sends, so what a cookie may do depends on the
page. `Origin` says which page it was; browsers set it and pages cannot.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_same_origin(origin: str | None, host: str | None, trusted: Collection[str] = ()) -> bool:
    """Whether the page is one of ours (its address is the request's `Host`) or is trusted.

    The scheme is not compared: behind a proxy that ends TLS the server cannot know it.
    """
    if origin is None or host is None:
        return False
    if origin in trusted:
        return True
    try:
        page = urlsplit(origin)
    except ValueError:  # no address at all, which no browser sends
        return False
    if page.scheme not in _DEFAULT_PORTS or page.path or page.query or page.fragment:
        return False
    default = _DEFAULT_PORTS[page.scheme]
    return _address(page.netloc, default) == _address(host, default) is not None


def is_unforgeable_host(host: str | None) -> bool:
    """Whether no outsider can own the name in `Host` (an IP address, or a name without dots).

    A server that asks for no credential relies on this: a page of `evil.example` whose name was
    pointed at 127.0.0.1 would otherwise count as one of ours.
    """
    address = _address(host or "", 80)
    if address is None:
        return False
    name = address[0]
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return "." not in name or name.endswith(".localhost")
    return True


def _address(netloc: str, default_port: int) -> tuple[str, int] | None:
    if "@" in netloc or not netloc:
        return None
    try:
        parts = urlsplit(f"//{netloc}")
        return (parts.hostname, parts.port or default_port) if parts.hostname else None
    except ValueError:
        return None
