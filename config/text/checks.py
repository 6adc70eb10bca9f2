"""Checks for several options. Each yields (path below the value, what would be right)."""

import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from log_shipper.config.text.secrets import Secret

Item = TypeVar("Item")
Finding = tuple[str, str]


def not_empty(items: tuple[Any, ...]) -> Iterator[Finding]:
    if not items:
        yield "", "must not be empty"


def each(check: Callable[[Item], Iterator[Finding]]) -> Callable[[tuple[Item, ...]], Iterator[Finding]]:
    """Return a check that applies `check` to each item."""

    def check_items(items: tuple[Item, ...]) -> Iterator[Finding]:
        yield from ((f"[{index}]", fault) for index, item in enumerate(items) for _, fault in check(item))

    return check_items


def parses(parse: Callable[[str], object]) -> Callable[[str], Iterator[Finding]]:
    """Return a check that reports the ValueError of `parse`."""

    def check(text: str) -> Iterator[Finding]:
        try:
            parse(text)
        except ValueError as error:
            yield "", str(error)

    return check


def without_blanks(items: tuple[str, ...]) -> Iterator[Finding]:
    yield from not_empty(items)
    yield from each(not_blank)(items)


def not_blank(text: str | Secret) -> Iterator[Finding]:
    """Check a name or a path."""
    plain = text.reveal() if isinstance(text, Secret) else text
    if not plain.strip():
        yield "", "is empty"
    yield from without_nul(text)


def without_nul(text: str | Secret) -> Iterator[Finding]:
    """Check a path, which may be empty. No system has paths with a NUL, and Python raises unexpected errors for
    them."""
    plain = text.reveal() if isinstance(text, Secret) else text
    if "\0" in plain:
        yield "", f"{text!r} contains a NUL character"


def file_mode(text: str) -> Iterator[Finding]:
    if not re.fullmatch("0?[0-7]{3}", text):
        yield "", f"{text!r} must be an octal mode, as in 0600"


def addresses(hosts: tuple[str, ...]) -> Iterator[Finding]:
    yield from not_empty(hosts)
    for index, host in enumerate(hosts):
        if fault := _address_fault(host):
            yield f"[{index}]", f"{host!r} {fault}"


def _address_fault(host: str) -> str:
    scheme, separator, _ = host.partition("://")
    if separator:
        return f"must be host:port; remove {scheme}://, and set TLS in the section ssl"
    if any(character.isspace() or character == "," for character in host):
        return "must be one host:port, without blanks and commas"
    name, colon, port = host.rpartition(":")
    if _is_ipv6(host) or _is_ipv6(name):
        return "is an IPv6 address without brackets; write it as in [::1]:9092"
    if colon and (not name or not port.isascii() or not port.isdecimal() or not 0 < int(port) < 65536):
        return "must be host:port, with a port from 1 to 65535"
    return ""


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
