"""How a name server is written."""

import pytest

from log_shipper.shipper.options.dns import Nameserver, nameserver


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.0.2.1", Nameserver("192.0.2.1", None)),
        ("192.0.2.1:5353", Nameserver("192.0.2.1", 5353)),
        ("2001:db8::1", Nameserver("2001:db8::1", None)),
        ("[2001:db8::1]", Nameserver("2001:db8::1", None)),
        ("[2001:db8::1]:853", Nameserver("2001:db8::1", 853)),
        ("dns.example", Nameserver("dns.example", None)),
        ("dns.example:853", Nameserver("dns.example", 853)),
        ("192.0.2.1:65535", Nameserver("192.0.2.1", 65535)),
    ],
)
def test_a_name_server_may_have_a_port(text: str, expected: Nameserver) -> None:
    assert nameserver(text) == expected


@pytest.mark.parametrize(
    "text", ["", ":53", "a:b", "[::1", "1:2:3:4", "999.1.1.1", "999.1.1.1:53", "1", "a b", "a:0", "192.0.2.1:65536"]
)
def test_what_is_no_name_server_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a name server"):
        nameserver(text)
