"""The address that a request counts for: the client's own, or the one that a trusted proxy reports."""

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

UNKNOWN = "unknown"
# A client with one IPv6 address has all addresses of its network, so a limit for each address would have no effect.
IPV6_PREFIX = 64
LONGEST_ADDRESS = 128  # characters; the longest with a port has half as many
# Some proxies write the port, too: 192.0.2.1:50000, [2001:db8::1]:50000.
WITH_PORT = re.compile(r"(?:(?P<four>[0-9.]+):[0-9]{1,5}|\[(?P<six>[0-9A-Fa-f:.]+)\](?::[0-9]{1,5})?)", re.ASCII)


def parse_networks(text: str) -> tuple[Network, ...]:
    """Return the networks and addresses in a list with commas; raise ValueError."""
    return tuple(ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip())


def client_address(peer: str | None, forwarded: Sequence[str], trusted: Sequence[Network]) -> str:
    """Return the address, or IPv6 network, that the limits apply to.

    `forwarded` holds the X-Forwarded-For headers. They are read from the right, and only the entries that trusted
    proxies wrote: the entries further left are the client's own claim.
    """
    address = _parse(peer)
    hops = [hop for header in forwarded for hop in header.split(",")]
    while hops and address is not None and _is_trusted(address, trusted):
        before = _parse(hops.pop())
        if before is None:
            break
        address = before
    return UNKNOWN if address is None else _shown(address)


def is_trusted(peer: str | None, trusted: Sequence[Network]) -> bool:
    """Return whether a connection comes from a trusted proxy."""
    address = _parse(peer)
    return address is not None and _is_trusted(address, trusted)


def _parse(text: str | None) -> Address | None:
    return None if text is None or len(text) > LONGEST_ADDRESS else _parse_short(text)


@lru_cache(maxsize=1024)
def _parse_short(text: str) -> Address | None:
    """Return an address; it is cached, because each request needs its address several times."""
    found = WITH_PORT.fullmatch(text.strip())
    try:
        address = ip_address(found["six"] or found["four"] if found else text.strip())
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _is_trusted(address: Address, trusted: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in trusted)


@lru_cache(maxsize=1024)
def _shown(address: Address) -> str:
    if isinstance(address, IPv6Address):
        return str(ip_network((address, IPV6_PREFIX), strict=False))
    return str(address)
