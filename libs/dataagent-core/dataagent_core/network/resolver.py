"""A resolver for aiohttp clients: names are resolved once, checked, and connected to as checked."""

from __future__ import annotations

import socket

from aiohttp.abc import AbstractResolver, ResolveResult

from dataagent_core.network.host_policy import Address, HostPolicy


class CheckedResolver(AbstractResolver):
    """Resolves a name if every one of its addresses may be reached."""

    def __init__(self, hosts: HostPolicy) -> None:
        self._hosts = hosts

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses to connect to.

        Raises:
            HostNotAllowed: one of them is closed to tools.
            OSError: there are none.
        """
        addresses = await self._hosts.addresses(host, port)
        return [_result(host, port, address) for address in addresses]

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""


def _result(host: str, port: int, address: Address) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=str(address),
        port=port,
        family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
        proto=0,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )
