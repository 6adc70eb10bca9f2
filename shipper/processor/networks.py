"""The networks of a condition: in CIDR notation, or a name in NAMED."""

import ipaddress
from collections.abc import Callable, Sequence
from functools import lru_cache

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_CACHED = 4096  # addresses of one condition; logs repeat them


def _networks(*ranges: str) -> Callable[[Address], bool]:
    parsed = [ipaddress.ip_network(cidr, strict=False) for cidr in ranges]
    return lambda address: any(address in network for network in parsed)


# As in Go and RFC 1918 and 4193; Python's is_private and is_global contain more.
_LOOPBACK = _networks("127.0.0.0/8", "::1/128")
_MULTICAST = _networks("224.0.0.0/4", "ff00::/8")
_LINK_LOCAL = _networks("169.254.0.0/16", "fe80::/10")
_UNSPECIFIED = _networks("0.0.0.0/32", "::/128")
_BROADCAST = _networks("255.255.255.255/32")
_PRIVATE = _networks("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fd00::/8")
_NEAR = _networks("224.0.0.0/24")


def _scope(scope: int) -> Callable[[Address], bool]:
    """Return a test for IPv6 multicast of a scope, with any flags."""
    return lambda address: address.version == 6 and address.packed[0] == 0xFF and address.packed[1] & 0x0F == scope


_INTERFACE_LOCAL_MULTICAST, _LINK_LOCAL_MULTICAST_6 = _scope(1), _scope(2)


def _link_local_multicast(address: Address) -> bool:
    return _NEAR(address) or _LINK_LOCAL_MULTICAST_6(address)


def _global_unicast(address: Address) -> bool:
    return not any(kind(address) for kind in (_BROADCAST, _UNSPECIFIED, _LOOPBACK, _MULTICAST, _LINK_LOCAL))


def _public(address: Address) -> bool:
    local = (
        _PRIVATE,
        _LOOPBACK,
        _UNSPECIFIED,
        _BROADCAST,
        _LINK_LOCAL,
        _link_local_multicast,
        _INTERFACE_LOCAL_MULTICAST,
    )
    return not any(kind(address) for kind in local)


NAMED: dict[str, Callable[[Address], bool]] = {
    "loopback": _LOOPBACK,
    "global_unicast": _global_unicast,
    "unicast": _global_unicast,
    "link_local_unicast": _LINK_LOCAL,
    "interface_local_multicast": _INTERFACE_LOCAL_MULTICAST,
    "link_local_multicast": _link_local_multicast,
    "multicast": _MULTICAST,
    "unspecified": _UNSPECIFIED,
    "private": _PRIVATE,
    "public": _public,
}


def within(names: Sequence[str]) -> Callable[[str], bool]:
    """Return a test for the text of an address in one of these networks."""
    kinds = [NAMED.get(name) or _networks(name) for name in names]

    @lru_cache(maxsize=_CACHED)
    def is_within(text: str) -> bool:
        address = address_of(text)
        return address is not None and any(kind(address) for kind in kinds)

    return is_within


def address_of(text: str) -> Address | None:
    """Return the address, as IPv4 if it is mapped into IPv6; None if the text is not an address, or has a zone."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        return address.ipv4_mapped or (None if address.scope_id else address)
    return address
