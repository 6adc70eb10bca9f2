"""Which parts of a text that looks like a number really are one, by checksum or by what numbers are given out.

Each check takes a text and the place of a candidate in it, and gives the places of what is real. The work is linear in
the candidate's length: its groups are tried only in the ways in which such numbers are written.
"""

import ipaddress
from collections.abc import Callable, Iterator

from config.text.patterns import Span

Check = Callable[[str, int, int], Iterator[Span]]

# How the groups of a card's number are written, the longest first.
_CARDS = ([4, 4, 4, 4, 3], [4, 4, 4, 4, 2], [4, 4, 4, 4, 1], [4, 4, 4, 4], [4, 6, 5], [4, 6, 4])
_DOUBLED = str.maketrans("0123456789", "0246813579")
_LETTERS = {chr(ord("A") + at): str(10 + at) for at in range(26)}
# How long an account's number is, by country (SWIFT's IBAN registry).
_REGISTRY = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 "
    "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 "
    "LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 "
    "QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
)
_ACCOUNTS = {each[:2]: int(each[2:]) for each in _REGISTRY.split()}


def cards(text: str, begin: int, end: int) -> Iterator[Span]:
    """Payment cards: 13 to 19 digits in one piece or in the usual groups, with Luhn's check digit."""
    groups = _groups(text, begin, end)
    if len(groups) == 1:
        if _luhn(text[begin:end]):
            yield begin, end
        return
    lengths = [last - first for first, last in groups]
    at = 0
    while at < len(groups):
        taken = _card_at(text, groups, lengths, at)
        if taken:
            yield groups[at][0], groups[at + taken - 1][1]
        at += taken or 1


def _card_at(text: str, groups: list[Span], lengths: list[int], at: int) -> int:
    """How many groups from there on are a card's number; 0 for none."""
    if lengths[at] != 4 or text[groups[at][0]] not in "23456":
        return 0
    for form in _CARDS:
        taken = len(form)
        if lengths[at : at + taken] == form and _luhn("".join([text[b:e] for b, e in groups[at : at + taken]])):
            return taken
    return 0


def _groups(text: str, begin: int, end: int) -> list[Span]:
    """The places of what is between blanks and hyphens."""
    found = []
    for word in text[begin:end].replace("-", " ").split(" "):
        found.append((begin, begin + len(word)))
        begin += len(word) + 1
    return found


def _luhn(digits: str) -> bool:
    return (sum(map(int, digits[-1::-2])) + sum(map(int, digits[-2::-2].translate(_DOUBLED)))) % 10 == 0


def accounts(text: str, begin: int, end: int) -> Iterator[Span]:
    """International bank account numbers, by their check digits (ISO 13616: modulo 97)."""
    groups = _groups(text, begin, end)
    at = 0
    while at < len(groups):
        taken = _account_at(text, groups, at)
        if taken:
            yield groups[at][0], groups[at + taken - 1][1]
        at += taken or 1


def _account_at(text: str, groups: list[Span], at: int) -> int:
    """How many groups from there on are an account's number, in one piece or in fours; 0 for none."""
    begin, end = groups[at]
    length = _ACCOUNTS.get(text[begin : begin + 2])
    if length is None or not text[begin + 2 : begin + 4].isdecimal():
        return 0
    taken = 1 if end - begin == length else -(-length // 4)
    number = "".join(text[first:last] for first, last in groups[at : at + taken])
    return taken if len(number) == length and _modulo_97(number) == 1 else 0


def _modulo_97(number: str) -> int:
    return int("".join(_LETTERS.get(each, each) for each in number[4:] + number[:4])) % 97


def addresses(text: str, begin: int, end: int) -> Iterator[Span]:
    """IPv6 addresses; not the `::` of a program's names, not a time."""
    around = text[max(begin - 1, 0) : begin] + text[end : end + 1]
    if any(each.isalnum() or each in "_:" for each in around) or end - begin < 3:
        return
    try:
        ipaddress.IPv6Address(text[begin:end])
    except ValueError:
        return
    yield begin, end


def social_security(text: str, begin: int, end: int) -> Iterator[Span]:
    """Numbers that are given out: area, group and serial are not zero, and no area is 666 or 900 and more."""
    area, group, serial = text[begin:end].split("-")
    if area not in ("000", "666") and area < "900" and group != "00" and serial != "0000":
        yield begin, end


def phones(text: str, begin: int, end: int) -> Iterator[Span]:
    """Numbers with a country's code: 8 to 15 digits."""
    if 8 <= sum(each.isdecimal() for each in text[begin:end]) <= 15:
        yield begin, end


CHECKS: dict[str, Check] = {
    "credit_card": cards,
    "iban": accounts,
    "ipv6": addresses,
    "us_ssn": social_security,
    "phone": phones,
}
