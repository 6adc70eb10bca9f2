"""One connection: requests, answers, and how long each may take."""

import gzip
import hmac
from collections.abc import Callable
from dataclasses import replace

import pytest

from log_shipper.config.text.secrets import Secret
from log_shipper.shipper.inputs.http.conversation import STEPS_AT_ONCE
from log_shipper.shipper.inputs.http.options import HmacConfig, HttpInputConfig
from tests.unit.shipper.inputs.http.http_endpoints import Room, post


@pytest.fixture
def room() -> Room:
    return Room()


def configured(**options: object) -> Room:
    return Room(replace(HttpInputConfig(id="web", prefix="."), **options))  # type: ignore[arg-type]


def test_success_is_answered_once_all_is_resolved_and_not_before(room: Room) -> None:
    client = room.connect()
    client.send(post('{"message":"a"}'))
    messages, (delivery,) = room.take()
    assert messages.texts == ["a"]
    assert client.read() == b""
    delivery.resolve_part()
    answer = client.read()
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b'Content-Type: application/json\r\nContent-Length: 22\r\n\r\n{"message": "success"}')


def test_a_request_in_several_batches_is_answered_when_the_last_is_resolved(room: Room) -> None:
    client = room.connect()
    client.send(post("\n".join('{"message":"' + "x" * 1000 + '"}' for _ in range(400))))
    first, (delivery,) = room.take()
    second, (same,) = room.take()
    third, _ = room.take()
    rest, _ = room.take()
    assert delivery is same
    assert sum(len(run.texts) for run in (first, second, third, rest)) == 400
    assert (first.end, second.end, third.end) == (second.start, third.start, rest.start)
    for _ in range(3):
        delivery.resolve_part()
    assert client.read() == b""
    delivery.resolve_part()
    assert client.statuses() == [200]


def test_small_requests_share_a_batch_and_each_is_answered(room: Room) -> None:
    clients = [room.connect() for _ in range(3)]
    for number, client in enumerate(clients):
        client.send(post(f'{{"message":"{number}"}}'))
    messages, deliveries = room.take()
    assert (messages.texts, messages.offsets, len(deliveries)) == (["0", "1", "2"], [0, 15, 30], 3)
    for delivery in deliveries:
        delivery.resolve_part()
    assert [client.statuses() for client in clients] == [[200]] * 3


def test_requests_of_a_connection_are_answered_in_turn_also_when_all_are_sent_at_once(room: Room) -> None:
    client = room.connect()
    client.send(post('{"message":"a"}') + post("7") + post('{"message":"b"}', method="GET") + post('{"message":"c"}'))
    assert room.ship() == ["a", "c"]
    assert client.statuses() == [200, 400, 405, 200]
    assert not client.is_closed


def test_a_request_may_arrive_byte_by_byte(room: Room) -> None:
    client = room.connect()
    chunked = b'5\r\n{"mes\r\nA\r\nsage":"a"}\r\n0\r\n\r\n'
    for byte in post('{"message":"a"}') + post(chunked, "Transfer-Encoding: chunked"):
        client.send(bytes([byte]))
        room.ship()
    assert client.statuses() == [200, 200]


def test_a_thousand_requests_that_are_refused_are_answered_one_after_the_other(room: Room) -> None:
    client = room.connect()
    client.send(post("7") * 2000)
    assert client.statuses() == [400] * 2000


def test_a_client_that_sends_ahead_is_not_read_further(room: Room) -> None:
    client = room.connect()
    client.send(post('{"message":"a"}') + post('{"message":"b"}') * 3)
    assert client.reads_on
    client.send(post('{"message":"c"}'))
    assert not client.reads_on
    room.ship()
    assert client.reads_on
    assert client.statuses() == [200] * 5


GET = post("", method="GET")


def test_a_client_that_does_not_read_its_answers_is_not_read_either(room: Room) -> None:
    client = room.connect()
    client.send(GET)
    client.conversation.pause_writing()
    client.send(GET * 3)
    assert (client.statuses(), client.reads_on) == ([405], False)
    client.conversation.resume_writing()
    assert (client.statuses(), client.reads_on) == ([405] * 3, True)


def test_a_client_that_sends_on_without_reading_its_answers_is_cut_off(room: Room) -> None:
    client = room.connect()
    client.send(GET)
    client.unread = 100
    for _ in range(4):
        room.wait(1)
        client.send(GET)
    assert not client.is_aborted
    room.wait(1)
    assert client.is_aborted


def test_a_client_of_many_requests_lets_the_others_have_their_turn(room: Room) -> None:
    later = list[Callable[[], None]]()
    room.endpoint.soon = later.append
    client = room.connect()
    client.send(GET * 1000)
    assert (len(client.statuses()), client.reads_on) == (STEPS_AT_ONCE, False)
    answered = STEPS_AT_ONCE
    while later:
        later.pop()()
        answered += len(client.statuses())
    assert (answered, client.reads_on) == (1000, True)


@pytest.mark.parametrize("rest", [b"", post()[:-1], b"POST / HT"], ids=["nothing", "half a body", "half a head"])
def test_a_client_that_has_sent_all_is_answered_and_the_connection_ends(room: Room, rest: bytes) -> None:
    client = room.connect()
    client.send(post('{"message":"a"}') + post('{"message":"b"}') + rest)
    client.end_sending()
    assert not client.is_closed
    assert room.ship() == ["a", "b"]
    assert client.statuses() == [200, 200]
    assert client.is_closed


def test_the_answer_to_head_has_no_body(room: Room) -> None:
    client = room.connect()
    client.send(post("", method="HEAD"))
    assert client.read().endswith(b"\r\n\r\n")
    client.send(post("", method="GET"))
    assert client.read().endswith(b"}")


def test_a_client_that_asks_first_is_told_to_continue(room: Room) -> None:
    client = room.connect()
    whole = post('{"message":"a"}', "Expect: 100-continue")
    head, body = whole[: -len('{"message":"a"}')], b'{"message":"a"}'
    client.send(head)
    assert client.read() == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.send(body)
    room.ship()
    assert client.statuses() == [200]
    client.send(whole)
    room.ship()
    assert client.statuses() == [200]  # the body was there before it could be asked


def test_a_client_that_asks_first_is_refused_before_it_sends() -> None:
    client = configured(bearer_token=Secret("s3cret")).connect()
    client.send(post("{}", "Expect: 100-continue")[:-2])
    assert client.statuses() == [401]
    assert client.is_half_closed


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (post(path="/other"), 404),
        (post(method="GET", path="/in"), 405),
        (post(method="DELETE", path="/in"), 405),
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\n", 400),  # TLS where there is none
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"POST /in HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400),  # no Host
        (b"POST /in HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400),
        (b"POST /in HTTP/1.1\r\nHost: a\r\n\nPOST /in HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (post(path="/in").replace(b"localhost\r", b"localhost"), 400),
        (b"POST /in HTTP/1.1\r\nHost: " + b"a" * 1000, 431),
        (b"POST /in HTTP/1.1\r\n" + b"A: b\r\n" * 200, 431),
        (post("", path="/in"), 406),
        (post("{}", "Content-Encoding: br", path="/in"), 415),
        (post("{}", "Expect: something", path="/in"), 417),
        (post("{}", "Content-Length: 10485761", path="/in"), 413),
        (post("{}", path="/in?x=1"), 400),
        (post("{}", path="/in?" + "x=1&" * 33), 400),
        (post("{}", path="/in?wait_for_completion_timeout=abc"), 400),
        (post(gzip.compress(b"x" * (10 * 1024**2 + 1)), "Content-Encoding: gzip", path="/in"), 413),
        (post("{", path="/in"), 400),
    ],
)
def test_what_is_not_taken_is_refused_with_the_reason(request_bytes: bytes, status: int) -> None:
    room = configured(url="/in")
    client = room.connect()
    client.send(request_bytes)
    answer = client.read()
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert answer.partition(b"\r\n\r\n")[2].startswith(b'{"message": "')
    assert room.mailbox.is_empty
    assert room.in_flight.bytes == 0
    assert room.endpoint.answers == {status: 1}


def test_a_path_with_a_slash_at_its_end_is_also_all_below_it() -> None:
    for url, path, taken in (
        ("/in/", "/in/x", True),
        ("/in/", "/in", False),
        ("/in", "/in/x", False),
        ("/", "/a/b", True),
        ("/a b".replace(" ", "-"), "/a%2Db", True),
    ):
        client = configured(url=url).connect()
        client.send(post("[]", path=path))
        assert client.statuses() == [200 if taken else 404]


@pytest.mark.parametrize(
    ("types", "given", "taken"),
    [
        (("application/json", "application/x-ndjson"), "application/json; charset=utf-8", True),
        (("application/json", "application/x-ndjson"), "APPLICATION/JSON", True),
        (("application/json", "application/x-ndjson"), "application/jsonl", True),
        (("application/json",), "application/x-ndjson", False),
        (("application/json", "application/x-ndjson"), "text/plain", False),
        (("text/plain",), "text/plain", True),
        (("",), "", True),
        ((), "image/png", True),
        (("application/json",), "", False),
    ],
)
def test_only_the_types_that_are_configured_are_taken(types: tuple[str, ...], given: str, *, taken: bool) -> None:
    room = configured(content_type=types)
    client = room.connect()
    client.send(post('{"a":1}').replace(b"application/json", given.encode()))
    room.ship()
    assert client.statuses() == [200 if taken else 415]


def test_lines_of_text_are_taken_where_they_are_configured() -> None:
    room = configured(content_type=("text/plain",))
    client = room.connect()
    client.send(post("one\ntwo\n").replace(b"application/json", b"text/plain; charset=utf-8"))
    assert room.ship() == ["one", "two"]


def test_a_body_without_events_is_a_success(room: Room) -> None:
    client = room.connect()
    client.send(post("[]") + post("\n"))
    assert client.statuses() == [200, 200]


def test_the_answer_is_the_one_that_is_configured() -> None:
    room = configured(response_code=202, response_body='{"ok": true}')
    client = room.connect()
    client.send(post())
    room.ship()
    answer = client.read()
    assert answer.startswith(b"HTTP/1.1 202 Accepted")
    assert answer.endswith(b'\r\n\r\n{"ok": true}')
    room = configured(response_code=204)
    client = room.connect()
    client.send(post())
    room.ship()
    assert client.read().endswith(b" GMT\r\n\r\n")


def test_a_body_is_taken_with_its_signature_only() -> None:
    client = configured(hmac=HmacConfig(header="X-Signature", key=Secret("k"))).connect()
    compressed = gzip.compress(b"[]")
    signature = hmac.new(b"k", compressed, "sha256").hexdigest()  # of what is sent, not of what it becomes
    client.send(post(compressed, "Content-Encoding: gzip", f"X-Signature: {signature}"))
    client.send(post("[]", f"X-Signature: {signature}"))
    assert client.statuses() == [200, 401]


def test_browsers_are_answered_what_is_configured_for_them() -> None:
    client = configured(
        options_headers={"Access-Control-Allow-Origin": "https://a", "Allow": ["POST", "OPTIONS"]},
        bearer_token=Secret("s3cret"),
        options_response_code=204,
    ).connect()
    client.send(post("", method="OPTIONS"))
    answer = client.read()
    assert answer.startswith(b"HTTP/1.1 204 ")
    assert b"\r\nAccess-Control-Allow-Origin: https://a\r\nAllow: POST, OPTIONS\r\n" in answer
    client = configured().connect()
    client.send(post("", method="OPTIONS"))
    assert client.statuses() == [405]


def test_headers_of_the_request_are_in_the_event() -> None:
    room = configured(include_headers=("x-request-ID", "User-Agent", "x.y"))
    room.connect().send(post('{"a":1}', "X-Request-Id: 7", "X.Y: 8"))
    messages, _ = room.take()
    assert messages.docs == [{"a": 1, "headers": {"X-Request-Id": ["7"], "X_y": ["8"]}}]


@pytest.mark.parametrize("tls", [False, True])
def test_a_connection_ends_where_its_client_wants_it(room: Room, *, tls: bool) -> None:
    client = room.connect(tls=tls)
    client.send(post("{}", "Connection: close"))
    room.ship()
    assert b"\r\nConnection: close\r\n" in client.read()
    assert (client.is_half_closed, client.is_closed) == (not tls, tls)
    client = room.connect(tls=tls)
    client.send(post("{}", version="1.0"))
    room.ship()
    assert b"\r\nConnection: close\r\n" in client.read()


def test_a_refused_client_may_send_some_more_and_then_the_connection_ends(room: Room) -> None:
    for tls in (False, True):
        client = room.connect(tls=tls)
        client.send(post("{}", "Content-Length: 99999999"))
        assert client.statuses() == [413]
        client.send(b"x" * 900)
        assert not client.is_closed
        client.send(b"x" * 900)
        assert client.is_closed
    client = room.connect()
    client.send(post("{}", "Content-Length: 99999999"))
    room.wait(1)
    assert client.is_closed


class TestTime:
    def test_a_connection_without_a_request_is_closed(self, room: Room) -> None:
        client = room.connect()
        room.wait(74)
        client.send(post())
        room.ship()
        room.wait(74)
        assert not client.is_closed
        room.wait(1)
        assert (client.statuses(), client.is_closed) == ([200], True)

    def test_a_head_that_comes_slowly_is_refused(self, room: Room) -> None:
        client = room.connect()
        for _ in range(11):
            client.send(b"A")
            room.wait(0.95)
        assert client.statuses() == [408]
        assert room.endpoint.conversations
        room.wait(1)
        assert client.is_closed
        assert not room.endpoint.conversations

    def test_a_body_that_comes_slowly_is_refused(self, room: Room) -> None:
        client = room.connect()
        client.send(post("{}", "Content-Length: 1000"))
        for _ in range(60):
            assert not client.sent
            client.send(b" ")
            room.wait(1)
        assert client.statuses() == [408]
        assert room.in_flight.bytes == 0

    def test_what_is_not_delivered_in_time_is_refused_and_may_be_sent_again(self, room: Room) -> None:
        client = room.connect()
        client.send(post('{"message":"a"}'))
        room.wait(10)
        answer = client.read()
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nRetry-After: 10\r\n" in answer
        assert room.ship() == []  # it was not taken yet, so it is not sent either
        assert room.in_flight.bytes == 0
        client.send(post('{"message":"a"}'))
        assert room.ship() == ["a"]
        assert client.statuses() == [200]

    def test_what_was_taken_stays_in_flight_until_it_is_delivered(self, room: Room) -> None:
        client = room.connect()
        client.send(post('{"message":"a"}'))
        _, (delivery,) = room.take()
        room.wait(10)
        assert client.statuses() == [503]
        client.send(post('{"message":"b"}'))
        assert room.in_flight.bytes == 2 * 615
        delivery.resolve_part()
        assert room.in_flight.bytes == 615
        assert client.read() == b""  # that was the answer to another request
        room.ship()
        assert client.statuses() == [200]

    def test_a_client_of_filebeat_says_for_how_long_it_waits(self, room: Room) -> None:
        client = room.connect()
        client.send(post(path="/?wait_for_completion_timeout=2s"))
        room.wait(1.9)
        assert client.read() == b""
        room.wait(0.1)
        assert client.statuses() == [504]
        client.send(post(path="/?wait_for_completion_timeout=1h"))
        room.wait(10)
        assert client.statuses() == [504]

    def test_a_query_without_parameters_is_like_none(self, room: Room) -> None:
        client = room.connect()
        client.send(post(path="/?&"))
        room.wait(10)
        assert client.statuses() == [503]

    def test_a_client_that_does_not_read_is_left(self, room: Room) -> None:
        client = room.connect()
        client.send(post("7"))
        room.wait(5)
        assert not client.is_aborted  # all was taken by the kernel
        client.send(post("7"))
        client.unread = 100
        room.wait(5)
        assert client.is_aborted


class TestBounds:
    def test_from_the_high_water_on_requests_are_refused_until_the_low_water(self) -> None:
        # An event takes 607 bytes: two of them are the high water.
        options = {"max_in_flight_bytes": 4000, "max_body_bytes": 4000}
        room = configured(**options, high_water_in_flight_bytes=1200, low_water_in_flight_bytes=600)
        clients = [room.connect() for _ in range(5)]
        for client in clients[:3]:
            client.send(post())
        assert [client.statuses() for client in clients[:3]] == [[], [], [503]]
        _, deliveries = room.take()
        deliveries[0].resolve_part()
        clients[3].send(post())
        assert clients[3].statuses() == [503]
        assert room.in_flight.is_full
        deliveries[1].resolve_part()
        assert not room.in_flight.is_full
        clients[4].send(post())
        assert clients[4].statuses() == []

    def test_bodies_that_arrive_may_not_pass_the_limit_together(self) -> None:
        room = configured(max_in_flight_bytes=1000, max_body_bytes=900, high_water_in_flight_bytes=999)
        first, second = room.connect(), room.connect()
        for client in (first, second):
            client.send(post("", "Content-Length: 900"))
            client.send(b" " * 400)
        first.send(b" " * 100)
        assert first.read() == b""
        assert second.read() == b""
        second.send(b" " * 200)
        answer = second.read()
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nRetry-After: 10\r\n" in answer
        assert room.in_flight.bytes == 500
        first.leave()
        assert room.in_flight.bytes == 0

    def test_a_request_that_is_too_large_even_alone_is_not_asked_to_be_sent_again(self) -> None:
        room = configured(max_in_flight_bytes=10_000, max_body_bytes=9000)
        client = room.connect()
        client.send(post('{"a":1}\n' * 17))
        assert client.statuses() == [413]
        assert room.in_flight.bytes == 0

    def test_a_client_that_leaves_takes_its_request_along_if_it_was_not_taken(self, room: Room) -> None:
        first, second = room.connect(), room.connect()
        first.send(post('{"message":"a"}'))
        second.send(post('{"message":"b"}'))
        first.leave()
        assert room.ship() == ["b"]
        assert room.in_flight.bytes == 0
        third = room.connect()
        third.send(post('{"message":"c"}'))
        _, (delivery,) = room.take()
        third.leave()
        delivery.resolve_part()
        assert room.in_flight.bytes == 0

    def test_the_bytes_of_a_large_body_are_in_flight_until_it_is_read_whoever_has_left(self, room: Room) -> None:
        room.defers = True
        first, second = room.connect(), room.connect()
        body = gzip.compress(b'{"message":"a"}', mtime=0)
        first.send(post(body, "Content-Encoding: gzip"))
        second.send(post(body, "Content-Encoding: gzip"))
        first.leave()
        assert room.in_flight.bytes == 2 * len(body)
        for work in room.aside:
            work()()
        assert room.ship() == ["a"]
        assert second.statuses() == [200]
        assert room.in_flight.bytes == 0

    def test_a_large_body_is_answered_before_the_request_behind_it(self, room: Room) -> None:
        room.defers = True
        client = room.connect()
        damaged = post(b"no gzip", "Content-Encoding: gzip")
        client.send(damaged + post('{"message":"b"}'))
        assert client.statuses() == []
        room.aside.pop()()()
        assert client.statuses() == [400]
        assert room.ship() == ["b"]
        assert client.statuses() == [200]

    def test_a_large_body_that_is_not_read_in_time_is_refused_and_not_taken(self, room: Room) -> None:
        room.defers = True
        client = room.connect()
        client.send(post(gzip.compress(b'{"message":"a"}', mtime=0), "Content-Encoding: gzip"))
        room.wait(61)
        assert client.statuses() == [503]
        room.aside.pop()()()
        assert room.ship() == []
        assert room.in_flight.bytes == 0

    def test_a_stop_refuses_a_large_body_that_is_not_read_yet(self, room: Room) -> None:
        room.defers = True
        client = room.connect()
        client.send(post(gzip.compress(b'{"message":"a"}', mtime=0), "Content-Encoding: gzip"))
        room.endpoint.stop(answers_waiting=True)
        assert client.statuses() == []
        room.endpoint.stop(answers_waiting=False)
        assert client.statuses() == [503]

    def test_a_client_that_has_reset_its_connection_holds_up_no_other(self, room: Room) -> None:
        first, second = room.connect(), room.connect()
        for client in (first, second):
            client.send(post("{}", "Connection: close"))
        first.is_reset = True
        room.ship()
        assert first.is_aborted
        assert second.statuses() == [200]

    def test_an_idle_connection_makes_room_for_a_new_one(self) -> None:
        room = configured(max_connections=2)
        oldest = room.connect()
        room.clock.advance(1)
        newer = room.connect()
        third = room.connect()
        assert [client.is_closed for client in (oldest, newer, third)] == [True, False, False]
        newer.send(b"POST")
        third.send(b"POST")
        fourth = room.connect()
        answer = fourth.read()
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nRetry-After: 1\r\n" in answer
        assert fourth.is_half_closed
        assert len(room.endpoint.conversations) == 3
        room.wait(1)
        assert len(room.endpoint.conversations) == 2


class TestStop:
    def test_requests_that_were_received_whole_are_answered_and_others_refused(self, room: Room) -> None:
        idle, half, whole = room.connect(), room.connect(), room.connect()
        half.send(post()[:-1])
        whole.send(post('{"message":"a"}') + post('{"message":"b"}'))
        room.endpoint.stop(answers_waiting=True)
        assert idle.is_closed
        answer = half.read()
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nRetry-After: 1\r\n" in answer
        assert room.ship() == ["a"]
        answer = whole.read()
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"\r\nConnection: close\r\n" in answer
        assert whole.is_half_closed

    def test_what_is_not_delivered_in_the_end_is_refused(self, room: Room) -> None:
        client = room.connect()
        client.send(post())
        room.take()
        room.endpoint.stop(answers_waiting=False)
        assert client.statuses() == [503]

    def test_at_a_reload_what_was_not_taken_is_refused(self, room: Room) -> None:
        first, second = room.connect(), room.connect()
        first.send(post())
        _, (delivery,) = room.take()
        second.send(post())
        room.endpoint.take_back()
        assert (first.statuses(), second.statuses()) == ([], [503])
        delivery.resolve_part()
        assert first.statuses() == [200]


def test_a_refusal_is_logged_with_its_reason_once_a_minute(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    client = room.connect()
    for _ in range(3):
        client.send(post("7"))
    room.clock.advance(60)
    client.send(post("7"))
    why = "(line 1: a number, not an object; the whole request is rejected)"
    first, second = [record.getMessage() for record in caplog.records]
    assert first == (
        f"http localhost:8000/: refused a request from 10.0.0.7 with 400 {why} (logged at most once a minute)"
    )
    assert f"{why}, and 2 others with 400 since the last report" in second
