import itertools
import socket
import threading

from demo.provoke import REQUESTS, provocations, request, send


def test_all_requests_come_in_turn() -> None:
    assert list(itertools.islice(provocations(), len(REQUESTS) + 1)) == [*REQUESTS, REQUESTS[0]]


def test_a_request_begins_with_its_size() -> None:
    made = request(api=3, version=12)
    assert int.from_bytes(made[:4], "big") == len(made) - 4
    assert made[4:8] == b"\0\x03\0\x0c"


def test_send_returns_when_the_other_side_has_hung_up() -> None:
    heard: list[bytes] = []

    def answer() -> None:
        connection, _ = server.accept()
        with connection:
            heard.append(connection.recv(100))

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer)
        thread.start()
        send(f"127.0.0.1:{server.getsockname()[1]}", b"nonsense")
        thread.join()
    assert heard == [b"nonsense"]
