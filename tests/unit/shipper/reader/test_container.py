import json
from collections import deque
from typing import Any

import pytest

from log_shipper.shipper.event import MULTILINE, TRUNCATED, Messages
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.parsers.container import WAITING_BYTES, ContainerConfig, ContainerReader
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.parsers.ndjson import NdjsonConfig
from log_shipper.shipper.reader import chain
from tests.builders import input_config, messages
from tests.fakes import ManualClock
from tests.short_reads import LogOnDisk

TIME = "2024-01-02T03:04:05.123456789Z"
STAMP = "2024-01-02T03:04:05.123Z"
OUT: dict[str, Any] = {"stream": "stdout", "@timestamp": STAMP}
ERR: dict[str, Any] = {"stream": "stderr", "@timestamp": STAMP}


class Runs:
    """A reader of given runs."""

    pending_since: float | None = None

    def __init__(self) -> None:
        self.waiting: deque[Messages] = deque()
        self.end = 0

    def give(self, *texts: str, cut: bool = False) -> None:
        run = messages(texts, self.end)
        run.cut = cut
        self.end = run.end
        self.waiting.append(run)

    def next(self) -> Messages | None:
        return self.waiting.popleft() if self.waiting else None

    def finish(self) -> Messages | None:
        return None


class ContainerLab:
    def __init__(self, config: ContainerConfig, max_bytes: int = 1000) -> None:
        self.lines = Runs()
        self.clock = ManualClock()
        self.metrics = Metrics()
        self.reader = ContainerReader(self.lines, config, max_bytes, self.clock, self.metrics)

    def read(self, *texts: str, cut: bool = False) -> Messages:
        self.lines.give(*texts, cut=cut)
        run = self.reader.next()
        assert run is not None
        return run


def lab(max_bytes: int = 1000, **options: Any) -> ContainerLab:
    return ContainerLab(ContainerConfig(**options), max_bytes)


def docker(log: str, stream: str = "stdout", time: str = TIME, **more: Any) -> str:
    return json.dumps({"log": log, "stream": stream, "time": time} | more)


def rows(run: Messages) -> list[tuple[str, Any]]:
    return list(zip(run.texts, run.documents(), strict=True))


LINES = [
    (f"{TIME} stdout F a line", "a line", OUT),
    (f"{TIME} stderr F   two  blanks ", "  two  blanks ", ERR),
    (f"{TIME} stdout F:more tags here", "tags here", OUT),
    ("2024-01-02T03:04:05.123456789+01:00 stdout F x", "x", {**OUT, "@timestamp": "2024-01-02T02:04:05.123Z"}),
    (f"{TIME} stdout F ", "", {}),
    (docker("a line\n"), "a line", OUT),
    (docker("a line\r\n", "stderr"), "a line", ERR),
    (docker("two\nlines\n"), "two\nlines", OUT),
    (docker("zwölf € \u0000\n"), "zwölf € \u0000", OUT),
    (docker("x\n", attrs={"tag": "web"}), "x", {**OUT, "docker": {"attrs": {"tag": "web"}}}),
    (docker("x\n", attrs={}), "x", OUT),
    (docker("x\n", attrs=None), "x", OUT),
    (docker("x\n", ""), "x", {"@timestamp": STAMP}),
    (docker("x\n", time="2024-01-02T03:04:05.12Z"), "x", {**OUT, "@timestamp": "2024-01-02T03:04:05.120Z"}),
    (docker("\n"), "", {}),
    ("", "", {}),
]


@pytest.mark.parametrize(("line", "text", "doc"), LINES)
@pytest.mark.parametrize("beside", [[], [f"{TIME} stdin F makes every line be looked at for itself"]])
def test_a_line_becomes_its_text_with_stream_and_time(line: str, text: str, doc: Any, beside: list[str]) -> None:
    run = lab().read(line, *beside)
    assert rows(run)[0] == (text, doc)
    assert (run.offsets[0], run.lengths[0]) == (0, len(line.encode()) + 1)


NO_LINES = [
    ("auto", "plain text", "'<time> stdout|stderr <tag> <text>'"),
    ("auto", f"{TIME} stdout F", "'<time> stdout|stderr <tag> <text>'"),
    ("auto", f"{TIME} INFO F text", "'<time> stdout|stderr <tag> <text>'"),
    ("auto", f"{TIME} stdout hello world", "neither F(ull) nor P(artial)"),
    ("auto", "2024-02-30T03:04:05Z stdout F text", "is not RFC 3339"),
    ("auto", "99999-01-01T03:04:05Z stdout F text", "is not RFC 3339"),
    ("auto", "{", "not JSON"),
    ("auto", '{"log":"x"}', "must be texts"),
    ("auto", docker("x\n")[:-1], "not JSON"),
    ("auto", '{"log":1,"stream":"stdout","time":"' + TIME + '"}', "must be texts"),
    ("auto", '{"log":"x\\n","stream":[],"time":"' + TIME + '"}', "must be texts"),
    ("auto", docker("x\n", time="yesterday"), "is not RFC 3339"),
    ("auto", "{" * 100_000, "not JSON"),
    ("docker", f"{TIME} stdout F text", "not JSON"),
    ("docker", "[1]", "not a JSON object"),
    ("docker", '"text"', "not a JSON object"),
    ("json-file", "1", "not a JSON object"),
    ("cri", docker("x\n"), "'<time> stdout|stderr <tag> <text>'"),
]


@pytest.mark.parametrize(("format", "line", "why"), NO_LINES)
def test_a_line_that_is_not_of_a_container_is_shipped_as_it_is_with_the_reason(
    format: str, line: str, why: str
) -> None:
    for stream in ("all", "stderr"):
        ((text, doc),) = rows(lab(format=format, stream=stream).read(line))
        assert text == line
        assert doc["error"]["type"] == "container"
        assert doc["error"]["message"].startswith("Not a line of a container log: ")
        assert why in doc["error"]["message"]
        assert doc.keys() == {"error"}


def test_parts_of_a_line_are_joined_with_the_time_of_the_first() -> None:
    later = "2024-01-02T03:04:06.000000000Z"
    run = lab().read(
        f"{TIME} stdout P one, ", f"{later} stdout P:x two, ", f"{later} stdout F three", f"{TIME} stderr F x"
    )
    assert rows(run) == [("one, two, three", OUT), ("x", ERR)]
    assert (run.offsets, run.lengths) == ([0, run.offsets[1]], [run.offsets[1], run.end - run.offsets[1]])


def test_a_docker_log_without_a_newline_is_a_part() -> None:
    assert rows(lab().read(docker("one, "), docker("two"), docker(" three\n"))) == [("one, two three", OUT)]


@pytest.mark.parametrize("lines", [["F x"], ["P x", "F "]])
def test_what_an_earlier_parser_found_stays(lines: list[str]) -> None:
    it = lab()
    it.lines.give(*[f"{TIME} stdout {line}" for line in lines], f"{TIME} stdout F ")
    run = it.lines.waiting[0]
    run.docs = [{"tags": [number]} for number in range(len(run.texts))]
    run.flags = {0: (TRUNCATED,)}
    joined = it.reader.next()
    assert joined is not None
    assert rows(joined) == [("x", {"tags": [0], **OUT}), ("", {"tags": [len(lines)]})]
    assert joined.flags == {0: (TRUNCATED,)}


def test_parts_of_both_streams_are_not_mixed_and_come_in_the_order_in_which_they_began() -> None:
    run = lab().read(
        f"{TIME} stdout P out 1 ",
        f"{TIME} stderr P err 1 ",
        f"{TIME} stderr F err 2",
        f"{TIME} stderr F whole",
        f"{TIME} stdout F out 2",
    )
    assert rows(run) == [("out 1 out 2", OUT), ("err 1 err 2", ERR), ("whole", ERR)]
    ends = [offset + length for offset, length in zip(run.offsets, run.lengths, strict=True)]
    assert ends == [*run.offsets[1:], run.end]


def test_the_position_stays_before_the_first_message_that_is_not_whole() -> None:
    it = lab()
    first = it.read(f"{TIME} stdout F whole", f"{TIME} stdout P part")
    assert first.texts == ["whole"]
    assert first.end == len(f"{TIME} stdout F whole") + 1
    second = it.read(f"{TIME} stderr F waits")
    assert (second.texts, second.start, second.end) == ([], first.end, first.end)
    third = it.read(f"{TIME} stdout F ial")
    assert third.texts == ["partial", "waits"]
    assert (third.start, third.end) == (first.end, it.lines.end)


def test_only_lines_of_the_wanted_stream_are_kept_and_the_bytes_of_the_others_counted() -> None:
    it = lab(stream="stderr")
    run = it.read(f"{TIME} stdout F a", f"{TIME} stderr F b", f"{TIME} stdout F c")
    assert rows(run) == [("b", ERR)]
    assert (run.start, run.end) == (0, it.lines.end)
    assert it.metrics.events_filtered == 2
    run = it.read(
        f"{TIME} stdout P never ends", f"{TIME} stderr P d", f"{TIME} stdout P nor this", f"{TIME} stderr F e"
    )
    assert rows(run) == [("de", ERR)]
    assert run.end == it.lines.end
    assert it.metrics.events_filtered == 4


def test_a_cut_ends_pending_messages() -> None:
    it = lab()
    run = it.read(f"{TIME} stdout P out", f"{TIME} stderr P err", cut=True)
    assert (run.texts, run.cut, run.end) == (["out", "err"], True, it.lines.end)
    assert it.read(f"{TIME} stdout F rest").texts == ["rest"]


def test_a_timeout_ends_pending_messages_and_the_bytes_dropped_behind_them_count() -> None:
    it = lab(stream="stdout")
    it.read(f"{TIME} stdout P part", f"{TIME} stderr F dropped")
    ended = it.reader.finish()
    assert ended is not None
    assert rows(ended) == [("part", OUT)]
    assert (ended.start, ended.end) == (0, it.lines.end)
    assert it.reader.pending_since is None
    assert it.reader.finish() is None


def test_the_time_of_the_last_part_is_given_while_a_message_is_pending() -> None:
    it = lab()
    it.read(f"{TIME} stdout F whole")
    assert it.reader.pending_since is None
    it.read(f"{TIME} stdout P part")
    assert it.reader.pending_since == 1000.0
    it.clock.advance(3)
    it.read(f"{TIME} stderr F another that has to wait does not make the wait longer")
    assert it.reader.pending_since == 1000.0
    it.read(f"{TIME} stdout P part")
    assert it.reader.pending_since == 1003.0
    it.read(f"{TIME} stdout F part")
    assert it.reader.pending_since is None


@pytest.mark.parametrize(
    ("max_bytes", "text", "flags"),
    [(9, "abcdefghi", {}), (8, "abcdefgh", {0: (TRUNCATED,)}), (3, "abc", {0: (TRUNCATED,)})],
)
def test_no_more_than_the_limit_is_kept_of_a_message_in_parts(max_bytes: int, text: str, flags: Any) -> None:
    run = lab(max_bytes).read(
        f"{TIME} stdout P abc", f"{TIME} stdout P def", f"{TIME} stdout P ghi", f"{TIME} stdout F "
    )
    assert (run.texts, run.flags) == ([text], flags)


def test_a_message_that_never_ends_takes_bounded_memory() -> None:
    it = lab(max_bytes=10_000)
    for _ in range(100):
        run = it.read(*[f"{TIME} stdout P {'x' * 100}"] * 100)
        assert (run.texts, run.end) == ([], 0)
    run = it.read(f"{TIME} stdout F end")
    assert (run.texts, run.flags) == (["x" * 10_000], {0: (TRUNCATED,)})


def test_others_do_not_wait_forever() -> None:
    it = lab()
    it.read(f"{TIME} stdout P killed while it wrote this")
    lines = [f"{TIME} stderr F {'x' * 1000}"] * 100
    waited = 0
    while not (run := it.read(*lines)).texts:
        waited += sum(len(line) for line in lines)
    assert waited < WAITING_BYTES
    assert run.texts[0] == "killed while it wrote this"
    assert run.flags == {0: (TRUNCATED,)}
    assert it.read(f"{TIME} stdout F its rest").texts == ["its rest"]


def test_a_line_that_is_too_long_is_taken_apart_before_it_is_cut(log: LogOnDisk) -> None:
    config = input_config(ContainerConfig())
    log.write(f"{TIME} stdout F {'x' * 5000}\n{docker('y' * 5000 + chr(10))}\n".encode())
    run = chain.build(config, log.open(), 100, ManualClock()).next()
    assert run is not None
    assert rows(run) == [("x" * 100, OUT), ("y" * 100, OUT)]
    assert run.flags == {0: (TRUNCATED,), 1: (TRUNCATED,)}


def test_a_stack_trace_of_a_container_is_joined_after_it(log: LogOnDisk) -> None:
    config = input_config(ContainerConfig(), MultilineConfig(pattern=r"^\s"))
    log.write("".join(f"{TIME} stdout F {text}\n" for text in ("Error", " at a", " at b", "next")).encode())
    reader = chain.build(config, log.open(), 1000, ManualClock())
    run = reader.next()
    assert run is not None
    assert rows(run) == [("Error\n at a\n at b", OUT)]
    assert run.flags == {0: (MULTILINE,)}


def test_json_of_a_container_is_decoded_after_it(log: LogOnDisk) -> None:
    config = input_config(ContainerConfig(), NdjsonConfig(target="app"))
    log.write(f'{TIME} stdout F {{"level":"info"}}\n'.encode())
    run = chain.build(config, log.open(), 1000, ManualClock()).next()
    assert run is not None
    assert run.documents() == [{**OUT, "app": {"level": "info"}}]


def test_an_empty_line_of_a_container_gives_no_event(log: LogOnDisk) -> None:
    log.write(f"{TIME} stdout F \n{TIME} stdout F x\n".encode())
    run = chain.build(input_config(ContainerConfig()), log.open(), 1000, ManualClock()).next()
    assert run is not None
    assert rows(run) == [("x", OUT)]
