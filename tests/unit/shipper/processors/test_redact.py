"""redact: secrets in texts, masked."""

import json
import time

import pytest

from log_shipper.shipper.processors.redact import PATTERNS
from tests.processing import batch_of, chain_of, processed, records

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4fwpM"


def redacted(text: str, patterns: list[str], *options: str) -> str:
    lines = "".join(f"\n    {option}" for option in options)
    batch = batch_of([{"message": text}])
    chain_of(f"- redact:\n    patterns: {json.dumps(patterns)}{lines}")(batch)
    (record,) = records(batch)
    assert ("redacted" in record["log"].get("flags", [])) == (record["message"] != text)
    message: str = record["message"]
    return message


@pytest.mark.parametrize(
    ("name", "text", "masked"),
    [
        ("credit_card", "pay 4111111111111111 now", "pay * now"),
        ("credit_card", "pay 4111 1111 1111 1111 100 EUR", "pay * 100 EUR"),
        ("credit_card", "1234 4111-1111-1111-1111, 5500 0000 0000 0004", "1234 *, *"),
        ("credit_card", "2345 4111 1111 1111 1111", "2345 *"),
        ("credit_card", "amex 378282246310005 or 3782 822463 10005", "amex * or *"),
        ("credit_card", "4111 1111 1111 1111 4111 1111 1111 1111", "* *"),
        ("iban", "to DE89370400440532013000.", "to *."),
        ("iban", "to GB29 NWBK 6016 1331 9268 19 THE NEXT", "to * THE NEXT"),
        ("iban", "AB12 DE89 3704 0044 0532 0130 00", "AB12 *"),
        ("us_ssn", "ssn 078-05-1120", "ssn *"),
        ("phone", "call +49 30 123456 or +1 (555) 010-9999", "call * or *"),
        ("email", "user=a.b+c@mail.example.org, x", "user=*, x"),
        ("ipv4", "from 10.0.0.1:80 to 255.255.255.255", "from *:80 to *"),
        ("ipv6", "from [2001:db8::8a2e:370:7334]:80 to fe80::1, ::ffff:10.0.0.1", "from [*]:80 to *, *"),
        ("bearer_token", "Authorization: Bearer abcdefgh.ijkl==", "Authorization: Bearer *"),
        ("bearer_token", "authorization: basic dXNlcjpwdw==", "authorization: basic *"),
        ("aws_access_key", "key AKIAIOSFODNN7EXAMPLE used", "key * used"),
        ("jwt", f"token {JWT} sent", "token * sent"),
        ("private_key", f"got {KEY} here", "got * here"),
        ("private_key", f"got {KEY[:40]}", "got *"),
        ("password_assignment", "password=hunter2 user=x", "password=* user=x"),
        ("password_assignment", "db_passwd: \"a b\" and API-Key => 'c d'", "db_passwd: \"*\" and API-Key => '*'"),
        ("password_assignment", r'{"client_secret":"x y", "n":1}', r'{"client_secret":"*", "n":1}'),
        ("password_assignment", r"{\"token\":\"z\"}", r"{\"token\":\"*\"}"),
        ("password_assignment", "?a=1&access_token=abc&b=2", "?a=1&access_token=*&b=2"),
        ("email", "ä ö a@b.de ü", "ä ö * ü"),
    ],
)
def test_finds_what_its_name_says(name: str, text: str, masked: str) -> None:
    assert redacted(text, [name], 'replacement: "*"') == masked


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("credit_card", "pay 4111111111111112"),
        ("credit_card", "id 41111111111111111111111"),
        ("credit_card", "2222 2222 2222 2222"),
        ("credit_card", "at 2026 11 21 09 30 00"),
        ("iban", "DE88370400440532013000"),
        ("iban", "AB12 CDEF GHIJ KLMN"),
        ("us_ssn", "000-12-3456 666-12-3456 900-12-3456 123-00-4567 123-45-0000 1123-45-6789"),
        ("phone", "a + 12 b +1 2 3, 1.5e+10"),
        ("email", "a@b @x a@ user@localhost"),
        ("ipv4", "1.2.3 256.1.1.1 1.2.3.444"),
        ("ipv6", "std::string at 12:30:45 ::, aa:bb:cc:dd:ee:ff, a::b::c, foo::abcd"),
        ("bearer_token", "the bearer of news"),
        ("aws_access_key", "AKIAIOSFODNN7 xAKIAIOSFODNN7EXAMPLE"),
        ("jwt", "eyJhbGciOiJIUzI1NiJ9"),
        ("private_key", "-----BEGIN PUBLIC KEY-----"),
        ("password_assignment", "password is required"),
    ],
)
def test_leaves_what_only_looks_like_it(name: str, text: str) -> None:
    assert redacted(text, [name]) == text


def test_secrets_are_masked_by_default_and_addresses_are_not() -> None:
    text = f"a@b.de 10.0.0.1 4111111111111111 {JWT} pwd=x"
    (record,) = processed("- redact:", {"message": text})
    assert (
        record["message"] == "a@b.de 10.0.0.1 [REDACTED:credit_card] [REDACTED:jwt] pwd=[REDACTED:password_assignment]"
    )


def test_patterns_of_your_own_mask_their_groups_or_all_that_they_match() -> None:
    chain = r"""
- redact:
    patterns: []
    custom: {order: 'order-\d+', customer: 'customer (\w+)(?: \((\w+)\))?', nothing: 'x*', both: 'of((-)y)'}
"""
    (record,) = processed(chain, {"message": "order-12 of-y customer ann (vip) and customer bob"})
    assert record["message"] == (
        "[REDACTED:order] of[REDACTED:both] customer [REDACTED:customer] ([REDACTED:customer])"
        " and customer [REDACTED:customer]"
    )


@pytest.mark.parametrize(
    ("options", "masked"),
    [
        ((), "[REDACTED:credit_card]"),
        (('replacement: ""',), ""),
        (('mask: "*"',), "**** **** **** ****"),
        (('mask: "#"', "keep_last: 4"), "#### #### #### 1111"),
        (('mask: "#"', "keep_last: 100"), "4111 1111 1111 1111"),
    ],
)
def test_what_is_put_in_its_place_can_be_chosen(options: tuple[str, ...], masked: str) -> None:
    assert redacted("pay 4111 1111 1111 1111!", ["credit_card"], *options) == f"pay {masked}!"


def test_fields_are_masked_with_all_that_is_in_them() -> None:
    chain = "- redact: {patterns: [email], fields: [message, user, list, n, none], replacement: '*'}"
    doc = {"message": "a@b.de", "user": {"mail": "a@b.de", "id": 7}, "list": ["x", {"y": "a@b.de"}], "n": 1}
    (record,) = processed(chain, doc)
    assert record == {"message": "*", "user": {"mail": "*", "id": 7}, "list": ["x", {"y": "*"}], "n": 1}


def test_what_holds_no_secret_is_not_touched() -> None:
    batch = batch_of([{"message": "nothing"}])
    chain_of("- redact: {fields: [message, host]}")(batch)
    assert batch.messages.docs is None
    assert batch.messages.flags == {}


def test_a_field_that_is_not_there_can_be_an_error() -> None:
    (record,) = processed("- redact: {fields: [none], ignore_missing: false}", {"message": "x"})
    assert record["error"] == {"message": "field none is missing", "type": "redact"}


HOSTILE = {
    "digits": "1" * 1_000_000,
    "cards that are none": "4111 1111 1111 1112 " * 50_000,
    "groups": "4111 " * 200_000,
    "solid cards that are none": "4111111111111112 " * 60_000,
    "at": "@" * 1_000_000,
    "local parts": "a." * 500_000,
    "domains": "a@" + "b." * 500_000,
    "mails": "a@b.c" * 200_000,
    "begins": "-----BEGIN PRIVATE KEY" * 45_000,
    "keys without end": "-----BEGIN PRIVATE KEY-----" * 37_000,
    "tokens": "eyJ" * 330_000,
    "dotted tokens": "eyJaaaaa." * 110_000,
    "assignments": "pwd" * 330_000,
    "assignments of nothing": "pwd= " * 200_000,
    "quotes": "pwd='pwd=\"" * 100_000,
    "blanks": "pwd" + " " * 1_000_000,
    "colons": ":" * 1_000_000,
    "groups of six": "a:" * 500_000,
    "accounts": "DE89 " * 200_000,
    "solid accounts": "DE88370400440532013000 " * 43_000,
    "pluses": "+1 2" * 250_000,
    "octets": "1." * 500_000,
    "bearers": "bearer " * 140_000,
    "ssn": "000-00-0000 " * 80_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_take_linear_time(kind: str) -> None:
    chain = chain_of(f"- redact: {{patterns: [{', '.join(PATTERNS)}]}}")
    spent = []
    for text in (HOSTILE[kind][: len(HOSTILE[kind]) // 8], HOSTILE[kind]):
        batch = batch_of([{"message": text}])
        begun = time.process_time()
        chain(batch)
        spent.append(time.process_time() - begun)
    # Eight times as long a text; a quadratic search would take 64 times as long, and minutes.
    assert spent[1] < max(20 * spent[0], 0.5)
    assert spent[1] < 8
