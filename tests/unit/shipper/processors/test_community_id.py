"""community_id: the ids that the specification's own implementation gives."""

from typing import Any

import pytest

from log_shipper.shipper.event import Doc
from tests.processing import processed


def flow(source: tuple[str, int | str], destination: tuple[str, int | str], **more: Any) -> Doc:
    (ip, port), (to_ip, to_port) = source, destination
    return {"source": {"ip": ip, "port": port}, "destination": {"ip": to_ip, "port": to_port}, **more}


def identified(doc: Doc, options: str = "") -> str | None:
    (record,) = processed(f"- community_id: {options or '{}'}", {"message": "x", **doc})
    assert "error" not in record
    found: str | None = record.get("network", {}).get("community_id")
    return found


TCP = flow(("128.232.110.120", 34855), ("66.35.250.204", 80), network={"transport": "tcp"})
BACK = flow(("66.35.250.204", 80), ("128.232.110.120", 34855), network={"transport": "tcp"})


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        (TCP, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
        (BACK, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
        (TCP | {"network": {"iana_number": "6", "transport": "udp"}}, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
        (TCP | {"network": {"transport": "TCP"}}, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
        (
            flow(("192.168.1.52", "54585"), ("8.8.8.8", "53"), network={"transport": "udp"}),
            "1:d/FP5EW3wiY1vCndhwleRRKHowQ=",
        ),
        (
            flow(("192.168.170.8", 7), ("192.168.170.56", 80), network={"iana_number": 132}),
            "1:jQgCxbku+pNGw8WPbEc/TS/uTpQ=",
        ),
    ],
)
def test_flows_with_ports(doc: Doc, expected: str) -> None:
    assert identified(doc) == expected


HOST, ROUTER = "fe80::200:86ff:fe05:80da", "fe80::260:97ff:fe07:69ea"


def icmp(protocol: str, source: str, destination: str, kind: int, code: int) -> Doc:
    ends = {"source": {"ip": source}, "destination": {"ip": destination}}
    return {**ends, "network": {"transport": protocol}, "icmp": {"type": kind, "code": code}}


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        (icmp("icmp", "192.168.0.89", "192.168.0.1", 8, 0), "1:X0snYXpgwiv9TZtqg64sgzUn6Dk="),
        (icmp("icmp", "192.168.0.1", "192.168.0.89", 0, 0), "1:X0snYXpgwiv9TZtqg64sgzUn6Dk="),
        (icmp("icmp", "192.168.0.89", "192.168.0.1", 20, 0), "1:3o2RFccXzUgjl7zDpqmY7yJi8rI="),
        (icmp("ipv6-icmp", HOST, ROUTER, 135, 0), "1:dGHyGvjMfljg6Bppwm3bg0LO8TY="),
        (icmp("icmpv6", ROUTER, HOST, 136, 0), "1:dGHyGvjMfljg6Bppwm3bg0LO8TY="),
    ],
)
def test_messages_of_icmp(doc: Doc, expected: str) -> None:
    assert identified(doc) == expected


def test_a_seed_and_names_of_fields_can_be_given() -> None:
    fields = "{source_ip: a, source_port: b, destination_ip: c, destination_port: d, transport: e}"
    options = f"{{seed: 1, target: id, fields: {fields}}}"
    doc = {"message": "x", "a": "128.232.110.120", "b": 34855, "c": "66.35.250.204", "d": 80, "e": "tcp"}
    (record,) = processed(f"- community_id: {options}", doc)
    assert record["id"] == "1:3V71V58M3Ksw/yuFALMcW0LAHvc="


@pytest.mark.parametrize(
    "doc",
    [
        {},
        {name: value for name, value in TCP.items() if name != "network"},
        TCP | {"source": {"ip": "128.232.110.120"}},
        TCP | {"source": {"ip": "web-1", "port": 1}},
        TCP | {"source": {"ip": "1.2.3.4", "port": 65536}},
        TCP | {"source": {"ip": "1.2.3.4", "port": 0}},
        TCP | {"destination": {"ip": "1.2.3.4", "port": "0"}},
        TCP | {"source": {"ip": "1.2.3.4", "port": "9" * 100_000}},
        TCP | {"source": {"ip": ["1.2.3.4"], "port": 1}},
        TCP | {"network": {"transport": "http"}},
    ],
)
def test_what_does_not_describe_a_flow_has_no_id_and_no_mark(doc: Doc) -> None:
    assert identified(doc) is None


def test_an_id_that_is_there_stays() -> None:
    assert identified(TCP | {"network": {"transport": "tcp", "community_id": "mine"}}) == "mine"


def test_an_address_of_version_4_within_6_is_the_same() -> None:
    mapped = TCP | {"source": {"ip": "::ffff:128.232.110.120", "port": 34855}}
    assert identified(mapped) == identified(TCP)


def test_a_protocol_without_ports_is_identified_by_its_addresses() -> None:
    doc = {"source": {"ip": "2.2.2.2"}, "destination": {"ip": "1.1.1.1"}, "network": {"transport": "gre"}}
    assert identified(doc) == "1:Z/19O7bkIOPCMQpQwH4v5KTGHZ8="
