"""`shipper tap`, from the stream to what is printed."""

import io
import json
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from log_shipper.runtime.http import Address
from log_shipper.shipper.cli import commands as cli
from log_shipper.shipper.cli.commands import main
from log_shipper.shipper.cli.tap import NO_MATCH, Format, Viewer, stream
from log_shipper.shipper.errors import StartError
from tests.fakes import ManualClock
from tests.status_documents import serving


def event(value: str, **members: Any) -> bytes:
    return json.dumps({"path": "/a.log", "topic": "", "key": "", "headers": [], "value": value, **members}).encode()


def counts(matching: int = 0, others: int = 0, dropped: int = 0) -> bytes:
    return json.dumps({"counts": {"matching": matching, "others": others, "dropped": dropped}}).encode()


@dataclass
class Terminal:
    clock: ManualClock
    out: io.BytesIO = field(default_factory=io.BytesIO)
    notes: io.StringIO = field(default_factory=io.StringIO)

    def viewer(self, form: Format = Format(), **limits: Any) -> Viewer:  # noqa: B008  # frozen
        return Viewer(form, self.out, self.notes, now=self.clock.monotonic, **limits)

    @property
    def printed(self) -> str:
        return self.out.getvalue().decode()


@pytest.fixture
def terminal(clock: ManualClock) -> Terminal:
    return Terminal(clock)


def test_events_are_printed_as_they_are_sent(terminal: Terminal) -> None:
    terminal.viewer().show([counts(), event('{"message":"\\u001b[2J"}'), event("a text \x1b[2J")])
    assert terminal.printed == '{"message":"\\u001b[2J"}\na text \x1b[2J\n'


def test_at_a_terminal_nothing_is_printed_that_it_obeys(terminal: Terminal) -> None:
    hostile = "clear \x1b[2J title \x9d0;x\x07 turned \u202e lines\n\r"
    form = Format(keys=True, terminal=True)
    terminal.viewer(form).show([event(hostile, topic="t\x1b", key="k\x07", headers=[["h", "\x1b"]])])
    assert terminal.printed == (
        "# topic=t\\x1b key=k\\x07 h=\\x1b\nclear \\x1b[2J title \\u009d0;x\\x07 turned \\u202e lines\\n\\r\n"
    )


@pytest.mark.parametrize(
    ("colours", "head"),
    [(False, "T1 /a.log"), (True, "\x1b[2mT1\x1b[0m \x1b[36m/a.log\x1b[0m")],
)
def test_at_a_terminal_an_event_is_its_time_path_and_message(colours: bool, head: str, terminal: Terminal) -> None:
    form = Format(terminal=True, brief=True, colours=colours)
    values = ('{"@timestamp":"T1","message":"a\\u001b\\nb"}', "a text\x1b", '{"@timestamp":"T1"}')
    terminal.viewer(form).show(map(event, values))
    assert terminal.printed == f'{head} a\\x1b\n  b\na text\\x1b\n{{"@timestamp":"T1"}}\n'


@pytest.mark.parametrize("is_terminal", [False, True])
def test_pretty_json_has_a_member_on_each_line(is_terminal: bool, terminal: Terminal) -> None:
    form = Format(pretty=True, terminal=is_terminal)
    terminal.viewer(form).show([event('{"message":"Łódź","log":{"offset":0}}'), event("no JSON")])
    assert terminal.printed == ('{\n  "message": "Łódź",\n  "log": {\n    "offset": 0\n  }\n}\nno JSON\n')


def test_topic_and_key_are_printed_before_the_event_on_request(terminal: Terminal) -> None:
    form = Format(keys=True)
    terminal.viewer(form).show([event("a", topic="logs", key="9f3c", headers=[["source", "web"]]), event("b")])
    assert terminal.printed == "# topic=logs key=9f3c source=web\na\n# topic=- key=-\nb\n"


def test_it_ends_after_the_count(terminal: Terminal) -> None:
    lines = iter([event("a"), event("b"), event("c")])
    terminal.viewer(count=2).show(lines)
    assert terminal.printed == "a\nb\n"
    assert len(list(lines)) == 1


def test_it_ends_when_the_time_is_over(terminal: Terminal) -> None:
    def lines() -> Iterator[bytes]:
        while True:
            terminal.clock.advance(1)
            yield counts()

    terminal.viewer(seconds=3).show(lines())


def test_what_was_dropped_is_reported_on_stderr(terminal: Terminal) -> None:
    viewer = terminal.viewer()
    viewer.show([event("a"), counts(100, dropped=7), counts(200, dropped=9), counts(10, dropped=2)])
    viewer.summarize()
    assert terminal.notes.getvalue().splitlines() == [
        "tap: connected; press Ctrl-C to stop",
        "tap: 7 events were dropped here: this reader is too slow",
        "tap: 1 event shown; 11 were dropped: this reader was too slow",
    ]


@pytest.mark.parametrize(
    ("others", "words"), [(0, "no events are sent: there are none"), (1200, "but 1,200 of others")]
)
def test_a_silence_is_explained_once(others: int, words: str, terminal: Terminal) -> None:
    viewer = terminal.viewer()
    viewer.show([counts()])
    terminal.clock.advance(NO_MATCH)
    viewer.show([counts(others=others)] * 3)
    _, note = terminal.notes.getvalue().splitlines()
    assert words in note


def test_a_silence_is_explained_at_the_end_if_that_is_earlier(terminal: Terminal) -> None:
    viewer = terminal.viewer(seconds=1)
    viewer.show([counts(others=3)])
    viewer.summarize()
    assert terminal.notes.getvalue().splitlines()[1:] == [
        "tap: no events of these inputs and files were sent, but 3 of others; see `shipper top`",
        "tap: 0 events shown",
    ]


SOURCES = {"inputs": {"count": 1, "some": ["app"]}, "files": {"count": 12, "some": ["/var/log/a\x1b.log"]}}


@pytest.mark.parametrize(
    ("targets", "unknown", "note"),
    [
        (
            ["ap", "app", "/x/*.log"],
            ["ap", f"{Path.cwd()}/ap", f"{Path.cwd()}/app", "/x/*.log"],
            "tap: no input or open file matches ap, /x/*.log; events are shown once one does. Inputs: "
            "app. Open files: /var/log/a\\x1b.log and 11 more\n",
        ),
        (["app"], [f"{Path.cwd()}/app"], ""),
        (["a.log"], ["a.log"], ""),
    ],
)
def test_what_is_wanted_and_does_not_exist_is_reported_at_once(
    targets: list[str], unknown: list[str], note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(path: str) -> tuple[int, bytes | Iterator[bytes]]:
        if path.startswith("/tap?"):
            return 200, iter([counts() + b"\n", event("a") + b"\n"])
        assert path.startswith("/tap/sources?")
        return 200, json.dumps({**SOURCES, "unknown": unknown}).encode()

    with serving(tmp_path / "shipper.sock", answer):
        assert main(["tap", *targets, "--count", "1", "--path.data", str(tmp_path)]) == 0
    assert capsys.readouterr() == ("a\n", f"tap: connected; press Ctrl-C to stop\n{note}tap: 1 event shown\n")


def test_an_older_agent_that_explains_nothing_is_tapped_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(path: str) -> tuple[int, bytes | Iterator[bytes]]:
        return (200, iter([counts() + b"\n", event("a") + b"\n"])) if path.startswith("/tap?") else (404, b"no")

    with serving(tmp_path / "shipper.sock", answer):
        assert main(["tap", "typo", "--count", "1", "--path.data", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "a\n"


def asked(arguments: list[str], data: Path, stream: bytes, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Run it against an agent that answers with this stream; return what it was asked."""
    requests: list[str] = []

    def answer(path: str) -> tuple[int, Iterator[bytes]]:
        requests.append(path)
        return 200, iter([stream, b""] if len(requests) == 1 else [])

    with serving(data / "shipper.sock", answer):
        main(["tap", *arguments, "--path.data", str(data), "-c", str(data / "none.yml")])
    query = parse_qs(urlsplit(requests[0]).query)
    return {"rate": query["rate"], "targets": json.loads(query["targets"][0]), "requests": len(requests)}


def test_the_agent_is_asked_at_its_socket_for_the_inputs_and_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["app", "/var/log/*.log", "--rate", "2.5", "--count", "1"]
    query = asked(arguments, tmp_path, event("a") + b"\n", capsys)
    assert query == {"rate": ["2.5"], "targets": ["app", f"{Path.cwd()}/app", "/var/log/*.log"], "requests": 1}
    assert capsys.readouterr() == ("a\n", "tap: 1 event shown\n")


def test_a_stream_that_breaks_off_is_continued_until_the_agent_does_not_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = asked([], tmp_path, event("a") + b"\n", capsys)
    assert query["requests"] == 2
    out, err = capsys.readouterr()
    assert out == "a\n"
    assert err.splitlines() == [
        "tap: 1 event shown",
        f"{tmp_path}/shipper.sock: the shipper ended or is restarting, which ends tap; run it again when the "
        "shipper is up",
    ]


def test_a_connection_that_is_reset_is_made_again() -> None:
    read = threading.Event()

    def serve(listener: socket.socket) -> None:
        for line in (b"one\n", b"two\n"):
            client, _ = listener.accept()
            client.recv(1000)
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + line)
            assert read.wait(60)
            read.clear()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # it is reset, not closed
            client.close()
        listener.close()

    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=serve, args=[listener])
    thread.start()
    gaps: list[str] = []
    lines = stream(Address("127.0.0.1", listener.getsockname()[1]), "/tap", lambda: gaps.append("gap"))
    assert (next(lines), gaps) == (b"one", [])
    read.set()
    assert (next(lines), gaps) == (b"two", ["gap"])
    read.set()
    thread.join()
    with pytest.raises(StartError, match="the shipper ended or is restarting, which ends tap"):
        next(lines)


def test_without_an_agent_the_error_names_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tap", "--path.data", str(tmp_path), "-c", str(tmp_path / "none.yml")]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"no {tmp_path}/shipper.sock: the shipper with this path.data is not running")
    assert "http.socket: false" in error


@pytest.mark.parametrize("options", [["--rate", "0"], ["--rate", "101"], ["--rate", "x"], ["--count", "0"]])
def test_a_wrong_number_is_a_usage_error(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parse(["tap", *options])
    assert "must be a number above 0" in capsys.readouterr().err
