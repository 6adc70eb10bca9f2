"""The library of patterns of grok."""

import pytest

from log_shipper.config.text.grok import parse_expression
from log_shipper.config.text.grok_patterns import PATTERNS
from log_shipper.config.text.patterns import _compiled, matcher


def of(pattern: str, text: str) -> bool:
    """All of what the pattern of the library matches, alone on a line."""
    groups = matcher(rf"^(?:{parse_expression(f'%{{{pattern}}}', {}).regexp})$")(text)
    return groups is not None


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("INT", "7 -7 +007"),
        ("NUMBER", "7 -7.25 .5"),
        ("WORD", "abc a_1"),
        ("IP", "10.0.0.1 255.255.255.255 ::1 2001:db8::8a2e:370:7334 1:2:3:4:5:6:7:8 ::ffff:10.0.0.1 fe80::1%eth0"),
        ("MAC", "00:1b:44:11:3a:b7 00-1B-44-11-3A-B7 001b.4411.3ab7"),
        ("HOSTNAME", "web-1 web-1.example.org example.org."),
        ("UUID", "123e4567-e89b-12d3-a456-426614174000"),
        ("PATH", r"/var/log/app.log /a/b~c C:\Windows\x.log"),
        ("URI", "http://example.org https://me:pw@example.org:8080/a/b?c=d&e=f ftp://10.0.0.1/x"),
        ("LOGLEVEL", "INFO warn Warning ERROR err fatal DEBUG emerg"),
        ("TIMESTAMP_ISO8601", "2026-11-21T09:30:00.123Z 2026-11-21T09:30:00+01:00 2026-11-21T09:30"),
        ("HTTPDATE", "10/Oct/2000:13:55:36|-0700"),
        ("SYSLOGTIMESTAMP", "Nov||1|09:30:00 Nov|21|09:30:00.123"),
        ("QUOTEDSTRING", r'"a|b" "a\"b" ' + "'x'"),
        ("EMAILADDRESS", "a.b+c@example.org"),
        ("TTY", "/dev/pts/1 /dev/tty1"),
        ("TIME", "09:30 23:59:60,123"),
        ("DATE", "11/21/2026 21.11.2026"),
        ("JAVACLASS", "com.example.Shop$Order Main"),
        ("BASE16NUM", "0xff dead"),
        ("URN", "urn:isbn:0451450523"),
    ],
)
def test_the_library_matches_what_its_names_promise(name: str, texts: str) -> None:
    refused = [text for text in texts.split(" ") if not of(name, text.replace("|", " "))]
    assert refused == []


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("INT", "x 1.5"),
        ("IP", "256.1.1.1 1.2.3 10.0.0.1.2 12:30"),
        ("UUID", "123e4567"),
        ("LOGLEVEL", "informal x"),
        ("TIMESTAMP_ISO8601", "2026-13-21T09:30 21.11.2026"),
        ("MONTHDAY", "0 32"),
        ("HOUR", "24"),
        ("QUOTEDSTRING", '"x x'),
        ("MAC", "00:11:22:33:44"),
    ],
)
def test_the_library_refuses_what_is_something_else(name: str, texts: str) -> None:
    assert [text for text in texts.split(" ") if of(name, text)] == []


def test_re2_accepts_every_pattern(subtests: pytest.Subtests) -> None:
    for name in PATTERNS:
        with subtests.test(name):
            parse_expression(f"%{{{name}}}", {})


@pytest.mark.parametrize("name", ["COMBINEDAPACHELOG", "SYSLOGLINE", "SYSLOG5424LINE", "JAVASTACK", "CATALINALOG"])
def test_patterns_of_whole_lines_are_small_enough_for_the_fast_way(name: str) -> None:
    assert _compiled(parse_expression(f"%{{{name}}}", {}).regexp)[0].programsize <= 512
