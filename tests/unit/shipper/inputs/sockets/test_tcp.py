"""Connections, from real peers of this machine."""

import random
import resource
import select
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.inputs.sockets.receiver import MIN_INTERVAL, RETRY_SECONDS
from tests.descriptors import descriptors_before, fall_to, few_descriptors
from tests.fakes import ManualClock
from tests.model.seeds import seeds
from tests.unit.shipper.inputs.sockets.conftest import Listen, Listening

TCP = 'type: tcp, host: "127.0.0.1:0"'
COUNTED = f"{TCP}, framing: rfc6587"


def test_lines_of_a_connection_are_events_with_the_address_of_the_peer(listen: Listen) -> None:
    listening = listen(TCP)
    with listening.connect() as connection:
        connection.sendall(b"one\r\ntwo\n\nthr")
        address = f"127.0.0.1:{connection.getsockname()[1]}"
        one, two = listening.events(2)
        connection.sendall(b"ee\n")
        (three,) = listening.events(1)
    assert [event["message"] for event in (one, two, three)] == ["one", "two", "three"]
    assert {event["log"]["source"]["address"] for event in (one, two, three)} == {address}
    assert [(event["log"]["offset"], event["log"]["length"]) for event in (one, two, three)] == [
        (0, 5),
        (5, 4),
        (10, 6),
    ]


def test_the_end_of_a_connection_ends_its_last_line(listen: Listen) -> None:
    listening = listen(TCP)
    listening.send_all(b"one\ntw", b"o")
    assert listening.texts(2) == ["one", "two"]


def test_each_connection_has_its_own_unfinished_line(listen: Listen) -> None:
    listening = listen(TCP)
    with listening.connect() as first, listening.connect() as second:
        first.sendall(b"a")
        second.sendall(b"1")
        first.sendall(b"b\n")
        assert listening.texts(1) == ["ab"]
        second.sendall(b"2\n")
        assert listening.texts(1) == ["12"]


@pytest.mark.parametrize(
    ("delimiter", "sent"), [(r'"\0"', b"a\0b\r\n\0"), ('"||"', b"a||b\r\n||"), ('"€"', "a€b\r\n€".encode())]
)
def test_messages_may_end_with_any_characters(listen: Listen, delimiter: str, sent: bytes) -> None:
    listening = listen(f"{TCP}, line_delimiter: {delimiter}")
    listening.send_all(sent)
    assert listening.texts(2) == ["a", "b\r\n"]


def test_bytes_that_are_not_utf_8_and_nuls_are_text_too(listen: Listen) -> None:
    listening = listen(TCP)
    listening.send_all(b"a\xffb\nc\0d\n\xe2\x82\n")
    assert listening.texts(3) == ["a\ufffdb", "c\0d", "\ufffd"]


def test_a_message_beyond_the_limit_is_truncated_and_flagged_and_the_next_one_is_whole(listen: Listen) -> None:
    listening = listen(f"{TCP}, max_message_size: 10")
    listening.send_all(b"x" * 5000, b"x" * 5000 + b"\nnext\n")
    cut, following = listening.events(2)
    assert (cut["message"], cut["log"]["flags"], cut["log"]["length"]) == ("x" * 10, ["truncated"], 10_001)
    assert (following["message"], "flags" in following["log"]) == ("next", False)
    listening.await_count("messages_oversized", 1)


def test_octets_are_counted_where_a_message_begins_with_a_digit(listen: Listen) -> None:
    listening = listen(COUNTED)
    listening.send_all(b"5 a\nb\ncplain\n5 x", b"yz", "é4 next".encode())
    assert listening.texts(4) == ["a\nb\nc", "plain", "xyzé", "next"]


def test_a_length_that_is_none_closes_the_connection_after_what_came_before(listen: Listen) -> None:
    listening = listen(COUNTED)
    with listening.connect() as connection:
        connection.sendall(b"3 one<13>two\n12x nonsense\n3 lost")
        assert listening.texts(2) == ["one", "<13>two"]
        listening.await_count("framing_errors", 1)
        assert connection.recv(1) == b""


def test_a_peer_that_leaves_within_a_counted_message_loses_it_and_that_is_counted(
    listen: Listen, caplog: pytest.LogCaptureFixture
) -> None:
    listening = listen(COUNTED)
    listening.send_all(b"3 one10 half")
    assert listening.texts(1) == ["one"]
    listening.await_count("messages_unfinished", 1)
    assert "the last 7 bytes of 127.0.0.1:" in caplog.text


def test_connections_beyond_the_limit_are_closed_and_counted(listen: Listen, caplog: pytest.LogCaptureFixture) -> None:
    listening = listen(f"{TCP}, max_connections: 1")
    with listening.connect() as first:
        first.sendall(b"one\n")
        listening.events(1)
        with listening.connect() as second:
            assert second.recv(1) == b""
        listening.await_count("connections_refused", 1)
        first.sendall(b"two\n")
        assert listening.texts(1) == ["two"]
    assert "max_connections (1) reached" in caplog.text


def leave_waiting(listening: Listening) -> None:
    """Have a full input, and 200 connections with a line each that wait to be accepted, and whose peers have left."""
    listening.send_all(b"x" * 200_000)
    listening.await_full()
    for number in range(200):
        listening.send_all(b"%d\n" % number)


def test_peers_that_have_left_do_not_count_as_connections(listen: Listen) -> None:
    listening = listen(f"{TCP}, pending_bytes: 64KiB, max_connections: 3")
    leave_waiting(listening)
    assert sorted(listening.texts(201)[1:]) == sorted(map(str, range(200)))
    assert listening.metrics.connections_refused == 0


def test_a_connection_that_sends_nothing_is_closed_without_its_unfinished_line(listen: Listen) -> None:
    clock = ManualClock()
    listening = listen(f"{TCP}, timeout: 40ms", clock)
    with listening.connect() as connection:
        connection.sendall(b"one\nhalf")
        assert listening.texts(1) == ["one"]
        while not select.select([connection], [], [], 0.05)[0]:
            clock.advance(MIN_INTERVAL)  # not much more at once: then the machine would have been busy
        assert connection.recv(1) == b""
    listening.await_count("connections_timed_out", 1)
    listening.await_count("messages_unfinished", 1)


def test_a_connection_that_breaks_off_keeps_what_came(listen: Listen) -> None:
    listening = listen(TCP)
    connection = listening.connect()
    connection.sendall(b"one\ntwo")
    assert listening.texts(1) == ["one"]
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()  # with a reset
    assert listening.texts(1) == ["two"]


def test_a_peer_waits_while_too_much_waits_here_and_nothing_is_lost(listen: Listen) -> None:
    clock = ManualClock()
    listening = listen(f"{TCP}, pending_bytes: 64KiB, timeout: 5m", clock)
    line = b"x" * 999 + b"\n"
    with listening.connect() as connection, listening.connect() as other:
        other.sendall(line)
        listening.events(1)
        connection.setblocking(False)
        sent = 0
        while not listening.source.receiver.is_waiting:
            sent += _sent(connection, line[sent % 1000 :])
        more = 1
        while more:
            more = _sent(connection, line[sent % 1000 :])
            sent += more
        assert listening.source.status().bytes_waiting < 64 * 1024 + 128 * 1024 + 1000
        clock.advance(600)  # no fault of the peer
        events = listening.events(sent // 1000)
        clock.advance(100)
        connection.setblocking(True)
        other.sendall(line)
        events += listening.events(1)
        assert listening.metrics.connections_timed_out == 0
    assert {event["message"] for event in events} == {"x" * 999}


def _sent(connection: socket.socket, data: bytes) -> int:
    try:
        return connection.send(data)
    except BlockingIOError:
        return 0


def test_unfinished_messages_of_all_connections_are_bounded(listen: Listen) -> None:
    listening = listen(f"{TCP}, pending_bytes: 64KiB, max_message_size: 20KiB")
    peers = [listening.connect() for _ in range(6)]
    for number, peer in enumerate(peers):
        peer.sendall(b"%d" % number * (15_000 + number))
    cut = listening.events(2)  # the other four have less than the bound together
    assert [event["log"]["flags"] for event in cut] == [["truncated"]] * 2
    numbers = {event["message"][0] for event in cut}
    for peer in peers:
        peer.sendall(b"\nnext\n")
    texts = listening.texts(10)
    assert texts.count("next") == 6
    assert {text[0] for text in texts if text != "next"} == set("012345") - numbers
    for peer in peers:
        peer.close()


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip("the system gives a process too few descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
def test_a_thousand_connections_send_at_once(listen: Listen) -> None:
    listening = listen(TCP)
    peers = [listening.connect() for _ in range(1000)]
    for number, peer in enumerate(peers):
        peer.sendall(b"%d a\n%d b" % (number, number))
    for peer in peers:
        peer.close()
    assert sorted(listening.texts(2000)) == sorted(f"{number} {part}" for number in range(1000) for part in "ab")


@pytest.fixture
def leave_descriptors() -> Iterator[Callable[[int | None], None]]:
    with few_descriptors() as leave:
        yield leave


def test_peers_do_not_take_the_last_descriptors(
    listen: Listen,
    leave_descriptors: Callable[[int | None], None],
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    listening = listen(TCP, clock)
    leave_descriptors(3)
    with listening.connect() as connection:
        connection.sendall(b"one\n")
        listening.await_count("connections_refused", 1)
        words = "cannot accept connections: Too many open files; raise LimitNOFILE, or lower max_connections"
        assert list(listening.source.status().problems.values()) == [words]
        assert words in caplog.text
        leave_descriptors(None)  # a number could be less than is kept free, which depends on how many are open
        clock.advance(RETRY_SECONDS)
        assert listening.texts(1) == ["one"]
    assert listening.source.status().problems == {}


def test_a_stop_without_a_free_descriptor_receives_what_has_come_over_connections(
    listen: Listen,
    leave_descriptors: Callable[[int | None], None],
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    listening = listen(TCP, clock)  # which stands still: what is refused is not tried again
    with listening.connect() as connection, socket.socket() as waiting:
        listening.await_sockets(2)
        leave_descriptors(0)
        waiting.connect(("127.0.0.1", listening.port))
        listening.await_count("connections_refused", 1)
        connection.sendall(b"one\n")
        assert [event["message"] for event in listening.rest()] == ["one"]
    assert "receiving stopped" not in caplog.text


def test_what_the_kernel_has_is_given_out_at_a_stop_but_no_unfinished_line(listen: Listen) -> None:
    listening = listen(TCP)
    with listening.connect() as connection:
        connection.sendall(b"one\n" * 10_000 + b"half")
        events = listening.rest()
        assert len(events) == 10_000
        assert connection.recv(1) == b""
    assert listening.metrics.messages_unfinished == 1
    with pytest.raises(ConnectionRefusedError):
        listening.connect()


def test_connections_that_were_not_accepted_yet_are_read_at_a_stop_too(listen: Listen) -> None:
    listening = listen(f"{TCP}, pending_bytes: 64KiB")
    leave_waiting(listening)
    texts = [event["message"] for event in listening.rest()]
    assert sorted(text for text in texts if text[0] != "x") == sorted(map(str, range(200)))


def test_what_was_dropped_on_purpose_is_not_behind(listen: Listen) -> None:
    listening = listen(TCP)
    with listening.connect() as connection:
        connection.sendall(b"one\n")
        listening.events(1)
        connection.sendall(b"\n\n\n")
    listening.await_sockets(1)
    listening.acknowledge()
    assert listening.rest() == []
    assert (listening.source.status().bytes_behind, listening.source.finished) == (0, True)


def test_what_is_neither_delivered_nor_on_disk_at_a_stop_is_counted_and_logged(
    listen: Listen, caplog: pytest.LogCaptureFixture
) -> None:
    listening = listen(TCP)
    listening.send_all(b"delivered\n")
    listening.events(1)
    listening.acknowledge()
    listening.send_all(b"lost\n")
    listening.events(1)
    listening.rest()
    assert listening.metrics.bytes_lost == len("lost\n")
    assert "input in: about 5 received bytes are lost" in caplog.text


def test_at_a_stop_without_patience_only_received_bytes_are_lost(
    listen: Listen, caplog: pytest.LogCaptureFixture
) -> None:
    for blocks, lost in (([], 0), ([b"lost\n"], 5)):
        listening = listen(TCP)
        listening.send_all(*blocks)
        listening.await_received(*blocks)
        listening.source.read_to_end(0)
        listening.source.stop()
        assert listening.metrics.bytes_lost == lost
    assert caplog.text.count("received bytes are lost") == 1


def test_what_a_reload_ends_may_be_delivered_later_and_is_not_lost(listen: Listen) -> None:
    listening = listen(TCP)
    listening.send_all(b"one\n")
    listening.events(1)
    listening.end_by_reload()
    assert (listening.metrics.bytes_lost, listening.source.finished) == (0, False)
    listening.acknowledge()
    assert listening.source.finished


def test_a_stop_leaves_no_descriptor_open(listen: Listen) -> None:
    before = len(descriptors_before())
    listening = listen(TCP)
    with listening.connect() as connection:
        connection.sendall(b"one\n")
        listening.events(1)
        listening.source.stop()
        listening.source.stop()
    assert fall_to(before)


def test_an_input_that_listens_has_no_end(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="input in: an input of type tcp never ends: run without --once"):
        Listening(tmp_path, TCP, once=True)


@pytest.mark.parametrize("seed", seeds(20))
def test_garbage_ends_no_more_than_its_own_connection(listen: Listen, seed: int) -> None:
    chance = random.Random(seed)
    listening = listen(f"{chance.choice([TCP, COUNTED])}, max_message_size: 1KiB")
    for _ in range(10):
        with listening.connect() as peer:
            try:
                for _ in range(chance.randrange(5)):
                    peer.sendall(chance.randbytes(chance.randrange(3000)))
            except ConnectionError:
                pass
    with listening.connect() as peer:
        peer.sendall(b"<13>still there\n")
        texts: list[str] = []
        while "<13>still there" not in texts:
            texts += listening.texts(1)


def test_a_peer_that_always_has_something_leaves_the_others_their_turn(listen: Listen) -> None:
    listening = listen(f"{TCP}, pending_bytes: 64KiB")
    with listening.connect() as greedy, listening.connect() as modest:
        greedy.setblocking(False)
        line, sent = b"x" * 999 + b"\n", 0
        while not listening.source.receiver.is_waiting or sent < 1_000_000:
            sent += _sent(greedy, line[sent % 1000 :])
        modest.sendall(b"modest\n")
        texts = listening.texts(sent // 1000 + 1)
    assert texts.index("modest") < 600


def test_a_peer_that_resets_before_it_is_accepted_keeps_what_it_had_sent(listen: Listen) -> None:
    listening = listen(f"{TCP}, pending_bytes: 64KiB")
    listening.send_all(b"x" * 200_000)
    listening.await_full()
    connection = listening.connect()
    connection.sendall(b"one\n")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    host, port = connection.getsockname()
    connection.close()  # with a reset
    event = listening.events(2)[1]
    assert (event["message"], event["log"]["source"]) == ("one", {"address": f"{host}:{port}"})
