"""Datagrams, from real senders of this machine."""

import socket
import threading
from pathlib import Path

import pytest

from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.errors import StartError
from tests.capabilities import without_capabilities
from tests.descriptors import descriptors_before, fall_to
from tests.unit.shipper.inputs.sockets.conftest import Listen

UDP = 'type: udp, host: "127.0.0.1:0"'


def test_a_datagram_is_an_event_with_the_address_of_its_sender(listen: Listen) -> None:
    listening = listen(UDP)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        listening.send(b"hello", sender=sender)
        address = f"127.0.0.1:{sender.getsockname()[1]}"
    (event,) = listening.events(1)
    assert event["message"] == "hello"
    assert event["log"]["source"] == {"address": address}
    assert event["log"]["file"]["path"] == "udp 127.0.0.1:0"
    assert (event["log"]["offset"], event["log"]["length"]) == (0, 5)
    assert event["input"] == {"type": "udp", "id": "in"}


def test_no_two_events_have_the_same_name(listen: Listen) -> None:
    listening = listen(UDP)
    senders = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(5)]
    for number in range(20):
        for sender in senders[: 1 + number % 5]:
            listening.send(b"x" * (number + 1), sender=sender)
    events = listening.events(60)
    offsets = [event["log"]["offset"] for event in events]
    assert offsets == sorted(set(offsets))
    assert len({event["log"]["file"]["id"] for event in events}) == 1
    addresses = [f"127.0.0.1:{sender.getsockname()[1]}" for sender in senders]
    for place, address in enumerate(addresses):
        sent = [event["message"] for event in events if event["log"]["source"]["address"] == address]
        assert sent == ["x" * (number + 1) for number in range(20) if number % 5 >= place]
        senders[place].close()


def test_a_datagram_beyond_the_limit_is_truncated_and_flagged(listen: Listen) -> None:
    listening = listen(f"{UDP}, max_message_size: 10")
    listening.send(b"0123456789", b"0123456789a", b"short")
    whole, cut, short = listening.events(3)
    assert (whole["message"], whole["log"].get("flags")) == ("0123456789", None)
    assert (cut["message"], cut["log"]["flags"], cut["log"]["length"]) == ("0123456789", ["truncated"], 11)
    assert short["log"]["offset"] == 21
    listening.await_count("messages_oversized", 1)


def test_datagrams_may_have_any_bytes(listen: Listen) -> None:
    listening = listen(UDP)
    listening.send(b"a\0b", b"", b"\xff\xfe", "é".encode(), b"two\nlines\n")
    assert listening.texts(4) == ["a\0b", "\ufffd\ufffd", "é", "two\nlines\n"]


@pytest.mark.parametrize(
    ("host", "network", "target"),
    [
        ("[::1]:0", "udp", "::1"),
        ("localhost:0", "udp", "127.0.0.1"),
        (":0", "udp6", "::1"),
        (":0", "udp", "127.0.0.1"),
        (":0", "udp", "::1"),
        (":0", "udp4", "127.0.0.1"),
    ],
)
def test_both_versions_of_ip_are_listened_to(listen: Listen, host: str, network: str, target: str) -> None:
    listening = listen(f'type: udp, host: "{host}", network: {network}')
    family = socket.AF_INET6 if ":" in target else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"hello", (target, listening.port))
        port = sender.getsockname()[1]
    shown = f"[{target}]:{port}" if ":" in target else f"{target}:{port}"
    assert listening.events(1)[0]["log"]["source"]["address"] == shown


def test_one_input_listens_at_several_addresses(listen: Listen) -> None:
    listening = listen('type: udp, host: ["127.0.0.1:0", "127.0.0.1:0"]')
    for address in listening.source.addresses:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(address.encode(), ("127.0.0.1", int(address.rpartition(":")[2])))
    assert sorted(listening.texts(2)) == sorted(listening.source.addresses)


def test_an_address_of_ipv6_is_whole_after_a_datagram_of_ipv4(listen: Listen) -> None:
    listening = listen('type: udp, host: ["127.0.0.1:0", "[::1]:0"]')
    for address in listening.source.addresses:
        family = socket.AF_INET6 if "[" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            sender.connect(("::1" if "[" in address else "127.0.0.1", int(address.rpartition(":")[2])))
            sender.send(b"hello")
            source = listening.events(1)[0]["log"]["source"]["address"]
            assert source == address.rpartition(":")[0].removeprefix("udp ") + f":{sender.getsockname()[1]}"


class CountedLooks(SystemClock):
    looks = 0

    def monotonic(self) -> float:
        self.looks += 1
        return super().monotonic()


def test_a_timeout_that_has_no_effect_does_not_wake_the_thread(listen: Listen) -> None:
    clock = CountedLooks()
    listening = listen(f"{UDP}, timeout: 0", clock)
    listening.send(b"hello")
    listening.events(1)
    before = clock.looks
    threading.Event().wait(0.4)
    assert clock.looks - before <= 4, "it looks once a second"


def test_what_the_kernel_drops_is_counted_and_logged(listen: Listen, caplog: pytest.LogCaptureFixture) -> None:
    listening = listen(f"{UDP}, pending_bytes: 64KiB, read_buffer: 32KiB, max_message_size: 2000")
    sent = listening.fill(b"x" * 1000)
    listening.send(*[b"x" * 1000] * 500)
    received = len(listening.rest())
    assert received + listening.metrics.datagrams_dropped == sent + 500
    assert listening.metrics.datagrams_dropped > 300
    assert "raise read_buffer and net.core.rmem_max" in caplog.text


def test_what_was_received_is_given_out_at_a_stop(listen: Listen) -> None:
    listening = listen(UDP)
    listening.send(*[b"%d" % number for number in range(100)])
    assert [event["message"] for event in listening.rest()] == [str(number) for number in range(100)]
    assert not listening.source.finished
    listening.acknowledge()
    assert listening.source.finished
    assert listening.source.status().files_open == 0


def test_a_port_in_use_is_named(listen: Listen) -> None:
    port = listen(UDP).port
    refused = rf"input in: cannot listen at udp 127.0.0.1:{port}: another process or input uses the address"
    with pytest.raises(StartError, match=refused):
        listen(f'type: udp, host: "127.0.0.1:{port}"')


def test_a_port_below_1024_needs_a_capability_that_is_named(listen: Listen) -> None:
    if int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()) < 1024:
        pytest.skip("here any user may listen at any port")
    with without_capabilities(), pytest.raises(StartError, match=r"at udp 127\.0\.0\.1:514: .* CAP_NET_BIND_SERVICE"):
        listen('type: udp, host: "127.0.0.1:514"')


def test_a_buffer_that_the_system_does_not_give_is_said_to_be_smaller(
    listen: Listen, caplog: pytest.LogCaptureFixture
) -> None:
    most = int(Path("/proc/sys/net/core/rmem_max").read_text())
    with without_capabilities():
        listen(f"{UDP}, read_buffer: {most + 1}")
    assert f"the kernel limits read_buffer ({most + 1} bytes) to {most}" in caplog.text


def test_a_failed_start_leaves_no_port_open(listen: Listen) -> None:
    before = len(descriptors_before())
    with pytest.raises(StartError, match=r"not an address of this machine") as refused:
        listen('type: udp, host: ["127.0.0.1:0", "192.0.2.1:514"]')
    assert fall_to(before)
    assert refused.tb is not None  # which has kept what was made, so that it was closed by no collector
