"""Senders to network inputs, in separate processes that share two cores with the agent."""

import http.client
import json
import socket
import time

SIZE = 200  # bytes of a message
SLOT = 0.001  # seconds between bursts of a paced sender
LINES_AT_ONCE = 300
SYSLOG = b"<165>1 2026-10-11T22:14:15.003Z web-1.example app 4711 ID47 - "
MESSAGE = SYSLOG + b"x" * (SIZE - len(SYSLOG))


def send_datagrams(port: int, count: int, seconds: float) -> None:
    """Send `count` datagrams in about `seconds`, evenly."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", port))
        began, sent = time.perf_counter(), 0
        while sent < count:
            due = min(int((time.perf_counter() - began) / seconds * count) + 1, count)
            for _ in range(due - sent):
                sender.send(MESSAGE)
            sent = max(sent, due)
            time.sleep(SLOT)


def send_from_many(port: int, count: int, senders: int) -> None:
    """Send `count` datagrams in about a second, from `senders` sockets in turn."""
    made = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(senders)]
    began = time.perf_counter()
    for sent in range(count):
        made[sent % senders].sendto(MESSAGE, ("127.0.0.1", port))
        if sent % 100 == 0:
            time.sleep(max(began + sent / count - time.perf_counter(), 0))


def send_lines(port: int, count: int, connections: int) -> None:
    _send_blocks(port, MESSAGE[:-1] + b"\n", count, connections)


def send_counted(port: int, count: int, connections: int) -> None:
    message = MESSAGE[:-4]
    _send_blocks(port, b"%d " % len(message) + message, count, connections)


def _send_blocks(port: int, message: bytes, count: int, connections: int) -> None:
    """Send `count` messages over `connections` in turn."""
    senders = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
    at_once = max(min(LINES_AT_ONCE, count // connections // 10), 1)
    sent = 0
    while sent < count:
        for sender in senders:
            share = min(at_once, count - sent)
            sender.sendall(message * share)
            sent += share
    for sender in senders:
        sender.close()


def post(port: int, count: int, events: int) -> None:
    """Send requests of `events` events each, one after the other over one connection."""
    body = json.dumps({"message": "x" * SIZE}).encode() + b"\n"
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for _ in range(count // events):
        connection.request("POST", "/", body * events, {"Content-Type": "application/x-ndjson"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"HTTP status {answer.status}")
    connection.close()
