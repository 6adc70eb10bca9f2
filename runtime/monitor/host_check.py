"""The check of the Host header, against DNS rebinding.

A browser sends a page's script only to the page's own host. An attacker's name may lead to our address a second later,
and the script would then read our answers; but the browser still sends the attacker's name as Host.
"""

import socket
from collections.abc import Collection

from log_shipper.runtime.monitor.exchange import RefusedRequest


def check_host(host: str, names: Collection[str]) -> None:
    """Raises RefusedRequest unless the header is absent, or has an address, a loopback name or one of `names`."""
    name = _without_port(host).lower().rstrip(".")
    if not name or name == "localhost" or name.endswith(".localhost") or name in names or _is_address(name):
        return
    raise RefusedRequest(
        403,
        "the Host header names a host that this server does not know: ask by the IP address, localhost, or the name in "
        "the configuration",
    )


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


def _is_address(name: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, name)
        except OSError:
            continue
        return True
    return False
