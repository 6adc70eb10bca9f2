"""Inputs that listen, in the real process."""

import os
import signal
import socket
from pathlib import Path

import orjson

from demo.ports import free_ports
from tests.e2e.files.local import LocalAgent
from tests.e2e.running import await_true

RFC_5424 = b"<165>1 2026-10-11T22:14:15Z web-1 app - - - "


def configure(agent: LocalAgent, ports: tuple[int, int], **of_tcp: object) -> None:
    udp = {"type": "syslog", "id": "s", "format": "auto", "protocol.udp": {"host": f"127.0.0.1:{ports[0]}"}}
    tcp = {"type": "tcp", "id": "t", "host": f"127.0.0.1:{ports[1]}", **of_tcp}
    output = {"output.file": {"path": str(agent.destination.parent), "filename": agent.destination.name}}
    made = Path(agent.directory / "shipper.new")
    more = {"path.data": str(agent.data), "shipper.shutdown_timeout": "60s"}
    made.write_bytes(orjson.dumps({"shipper.inputs": [udp, tcp], **more, **output}))
    made.chmod(0o600)
    made.replace(agent.directory / "shipper.yml")


def connect(port: int) -> socket.socket:
    connections: list[socket.socket] = []

    def connected() -> bool:
        try:
            connections.append(socket.create_connection(("127.0.0.1", port)))
        except ConnectionRefusedError:
            return False
        return True

    await_true(connected, "it listens")
    return connections[0]


def test_what_was_sent_before_a_reload_and_a_stop_arrives_once(agent: LocalAgent) -> None:
    udp, tcp = free_ports(2)
    ports = udp, tcp
    configure(agent, ports)
    agent.start()
    expected = []
    with connect(ports[1]) as first, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        first.sendall(b"".join(b"first %d\n" % number for number in range(2000)))
        configure(agent, ports, tags=["new"])
        agent.process.send_signal(signal.SIGHUP)
        assert first.recv(1) == b""  # the input has changed
        with connect(ports[1]) as second:
            sender.sendto(RFC_5424 + b"datagram", ("127.0.0.1", ports[0]))
            second.sendall(b"".join(b"second %d\n" % number for number in range(2000)))
            assert agent.stop() == 0
    for name in ("first", "second"):
        expected += [f"{name} {number}" for number in range(2000)]
    assert sorted(agent.all) == sorted([*expected, "datagram"])
    tags = {event["message"].partition(" ")[0]: event.get("tags") for event in agent.events}
    assert tags == {"first": None, "second": ["new"], "datagram": None}
    assert len({os.fspath(event["log"]["file"]["id"]) for event in agent.events}) == 3
