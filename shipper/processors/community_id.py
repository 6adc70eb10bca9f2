"""`community_id`: the Community ID of a network flow (version 1, github.com/corelight/community-id-spec).

Both directions of a flow have the same id, so its ends are sorted. ICMP has no ports: the message type and the type of
its answer take their place; without an answer, type and code are used and the ends are not sorted.
"""

import base64
import hashlib
import ipaddress
import re
import struct
from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.config.text.checks import not_blank
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import MISSING, path_of, roots


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFieldsConfig:
    source_ip: str = field(default="source.ip", metadata={"doc": "The field with the source address."})
    source_port: str = field(default="source.port", metadata={"doc": "The field with the source port."})
    destination_ip: str = field(default="destination.ip", metadata={"doc": "The field with the destination address."})
    destination_port: str = field(default="destination.port", metadata={"doc": "The field with the destination port."})
    iana_number: str = field(default="network.iana_number", metadata={"doc": "The field with the protocol number."})
    transport: str = field(
        default="network.transport", metadata={"doc": "The field with the protocol name, used if there is no number."}
    )
    icmp_type: str = field(default="icmp.type", metadata={"doc": "The field with the ICMP type."})
    icmp_code: str = field(default="icmp.code", metadata={"doc": "The field with the ICMP code."})


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunityIdConfig(ProcessorConfig):
    """Adds the Community ID of a network flow, which correlates it with records of other programs."""

    name: ClassVar = "community_id"
    example: ClassVar = """
        community_id:
          -> {source: {ip: 10.0.0.1, port: 55000}, destination: {ip: 10.0.0.2, port: 443}, network: {transport: tcp}}
          -> {source: {ip: 10.0.0.1, port: 55000}, destination: {ip: 10.0.0.2, port: 443},
          network: {transport: tcp, community_id: "1:qbRB+oh7Qw2p7V9a9/teqCKFX1U="}}
    """
    fields: FlowFieldsConfig = field(
        default_factory=FlowFieldsConfig,
        metadata={"doc": "The fields that describe the flow; the ECS fields when absent."},
    )
    target: str = field(
        default="network.community_id", metadata={"check": not_blank, "doc": "The field that the id is written to."}
    )
    seed: int = field(
        default=0, metadata={"doc": "A seed, to make ids differ from those of other systems.", "min": 0, "max": 65535}
    )

    def build(self, _: ProcessorContext) -> EventProcessor:
        return CommunityId(self)


_PROTOCOLS = {
    "icmp": 1,
    "igmp": 2,
    "tcp": 6,
    "udp": 17,
    "gre": 47,
    "ipv6-icmp": 58,
    "icmpv6": 58,
    "eigrp": 88,
    "ospf": 89,
    "pim": 103,
    "sctp": 132,
}
_WITH_PORTS = (6, 17, 132)
_ICMP, _ICMP6 = 1, 58


def _both_ways(pairs: dict[int, int]) -> dict[int, int]:
    return pairs | {answer: request for request, answer in pairs.items()}


_ANSWERS = {
    _ICMP: _both_ways({8: 0, 13: 14, 15: 16, 17: 18, 10: 9}),
    _ICMP6: _both_ways({128: 129, 133: 134, 135: 136, 130: 131, 139: 140, 144: 145}),
}
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,19}")


class CommunityId:
    """Leaves an event that does not describe a flow, or has an id, unchanged, without an error."""

    def __init__(self, config: CommunityIdConfig) -> None:
        fields = config.fields
        self._source = path_of(fields.source_ip), path_of(fields.source_port)
        self._destination = path_of(fields.destination_ip), path_of(fields.destination_port)
        self._protocols = path_of(fields.iana_number), path_of(fields.transport)
        self._icmp = path_of(fields.icmp_type), path_of(fields.icmp_code)
        self._target = path_of(config.target)
        self._seed = config.seed
        read = (*self._source, *self._destination, *self._protocols, *self._icmp)
        self.touches: frozenset[str] | None = roots(self._target, *read)

    def apply(self, event: Event) -> None:
        if event.get(self._target) is not MISSING:
            return
        source, destination = (_address(event.get(end[0])) for end in (self._source, self._destination))
        protocol = self._protocol(event)
        if source is None or destination is None or protocol is None:
            return
        ports: tuple[int, int] | None = None
        if protocol in _WITH_PORTS:
            given = [_number(event.get(end[1]), 65535) for end in (self._source, self._destination)]
            if not given[0] or not given[1]:
                return  # 0 is no port
            ports = given[0], given[1]
        elif protocol in _ANSWERS:
            kind, code = (_number(event.get(path), 255) for path in self._icmp)
            ports = (0, 0) if kind is None or code is None else (kind, code)
        event.put(self._target, community_id(source, destination, protocol, ports, self._seed))

    def _protocol(self, event: Event) -> int | None:
        value = next((member for path in self._protocols if (member := event.get(path)) is not MISSING), MISSING)
        if isinstance(value, str) and value.lower() in _PROTOCOLS:
            return _PROTOCOLS[value.lower()]
        return _number(value, 255)


def community_id(source: bytes, destination: bytes, protocol: int, ports: tuple[int, int] | None, seed: int) -> str:
    """Return the id of a flow; for ICMP, `ports` are type and code of the message."""
    one_way = False
    if ports is not None and protocol in _ANSWERS:
        answer = _ANSWERS[protocol].get(ports[0])
        one_way = answer is None
        ports = ports if answer is None else (ports[0], answer)
    ends = [(source, ports[0] if ports else 0), (destination, ports[1] if ports else 0)]
    if not one_way:
        ends.sort()
    hashed = struct.pack("!H", seed) + ends[0][0] + ends[1][0] + bytes((protocol, 0))
    if ports is not None:
        hashed += struct.pack("!HH", ends[0][1], ends[1][1])
    digest = hashlib.sha1(hashed, usedforsecurity=False).digest()
    return f"1:{base64.b64encode(digest).decode()}"


def _address(value: Any) -> bytes | None:
    if not isinstance(value, str) or "%" in value:
        return None
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return None
    return ((address.version == 6 and address.ipv4_mapped) or address).packed


def _number(value: Any, maximum: int) -> int | None:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = int(value, 16 if value[:2] in ("0x", "0X") else 10)
    return value if type(value) is int and 0 <= value <= maximum else None
