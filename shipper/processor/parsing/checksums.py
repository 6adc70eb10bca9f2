"""Verifies numbers in texts, by checksum or by the numbers in use.

A check receives a text and the span of a candidate, and yields the spans of real numbers. It takes time linear in the
candidate's length: groups are tried only in the usual forms of such numbers.
"""

import ipaddress
from collections.abc import Callable, Iterator

from log_shipper.config.text.patterns import Span

Check = Callable[[str, int, int], Iterator[Span]]

# The group lengths of card numbers, longest form first.
_CARDS = ([4, 4, 4, 4, 3], [4, 4, 4, 4, 2], [4, 4, 4, 4, 1], [4, 4, 4, 4], [4, 6, 5], [4, 6, 4])
_DOUBLED = str.maketrans("0123456789", "0246813579")
_LETTERS = {chr(ord("A") + number): str(10 + number) for number in range(26)}
# The length of an account number by country (SWIFT's IBAN registry).
_REGISTRY = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 "
    "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 "
    "LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 "
    "QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
)
_ACCOUNTS = {entry[:2]: int(entry[2:]) for entry in _REGISTRY.split()}


def cards(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield payment cards: 13 to 19 digits in one piece or in the usual groups, with Luhn's check digit."""
    groups = _groups(text, start, end)
    if len(groups) == 1:
        if _luhn(text[start:end]):
            yield start, end
        return
    lengths = [group_end - group_start for group_start, group_end in groups]
    index = 0
    while index < len(groups):
        taken = _card_at(text, groups, lengths, index)
        if taken:
            yield groups[index][0], groups[index + taken - 1][1]
        index += taken or 1


def _card_at(text: str, groups: list[Span], lengths: list[int], index: int) -> int:
    """Return how many groups from the index on form a card number; 0 if none do."""
    if lengths[index] != 4 or text[groups[index][0]] not in "23456":
        return 0
    for form in _CARDS:
        taken = len(form)
        if lengths[index : index + taken] == form and _luhn(_joined(text, groups[index : index + taken])):
            return taken
    return 0


def _groups(text: str, start: int, end: int) -> list[Span]:
    """Return the spans between blanks and hyphens."""
    groups = []
    for word in text[start:end].replace("-", " ").split(" "):
        groups.append((start, start + len(word)))
        start += len(word) + 1
    return groups


def _joined(text: str, groups: list[Span]) -> str:
    return "".join([text[start:end] for start, end in groups])


def _luhn(digits: str) -> bool:
    return (sum(map(int, digits[-1::-2])) + sum(map(int, digits[-2::-2].translate(_DOUBLED)))) % 10 == 0


def accounts(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield international bank account numbers, by their check digits (ISO 13616: modulo 97)."""
    groups = _groups(text, start, end)
    index = 0
    while index < len(groups):
        taken = _account_at(text, groups, index)
        if taken:
            yield groups[index][0], groups[index + taken - 1][1]
        index += taken or 1


def _account_at(text: str, groups: list[Span], index: int) -> int:
    """Return how many groups from the index on form an account number, in one piece or in fours; 0 if none do."""
    start, end = groups[index]
    length = _ACCOUNTS.get(text[start : start + 2])
    if length is None or not text[start + 2 : start + 4].isdecimal():
        return 0
    taken = 1 if end - start == length else -(-length // 4)
    number = _joined(text, groups[index : index + taken])
    return taken if len(number) == length and _modulo_97(number) == 1 else 0


def _modulo_97(number: str) -> int:
    return int("".join(_LETTERS.get(character, character) for character in number[4:] + number[:4])) % 97


def addresses(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield IPv6 addresses, but not times or the `::` of programming languages."""
    neighbours = text[max(start - 1, 0) : start] + text[end : end + 1]
    if any(character.isalnum() or character in "_:" for character in neighbours) or end - start < 3:
        return
    try:
        ipaddress.IPv6Address(text[start:end])
    except ValueError:
        return
    yield start, end


def social_security(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield numbers that can be issued: area, group and serial are not zero, and the area is neither 666 nor 900 or
    more."""
    area, group, serial = text[start:end].split("-")
    if area not in ("000", "666") and area < "900" and group != "00" and serial != "0000":
        yield start, end


def phones(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield numbers with a country code: 8 to 15 digits."""
    if 8 <= sum(character.isdecimal() for character in text[start:end]) <= 15:
        yield start, end


CHECKS: dict[str, Check] = {
    "credit_card": cards,
    "iban": accounts,
    "ipv6": addresses,
    "us_ssn": social_security,
    "phone": phones,
}
