"""The cost of readers and processors: a million lines of other kinds, compared with plain lines."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import orjson

from bench import throughput
from bench.contenders import Contender
from bench.data import line
from bench.runs import Runs, report
from bench.table import show, spread

LineSource = Callable[[int], Iterator[str]]  # count -> lines without terminators


@dataclass(frozen=True, slots=True)
class Shape:
    """`options` of the input and `processors`: in YAML's flow style; `lines_a_message`: of sent messages."""

    name: str
    aim: str
    write: LineSource
    options: str = ""
    processors: str = ""
    lines_a_message: int = 1
    encoding: str = "utf-8"


def plain(count: int) -> Iterator[str]:
    yield from map(line, range(count))


def stack_traces(count: int) -> Iterator[str]:
    """Yield stack traces of ten lines, as Java prints them."""
    for number in range(count // 10):
        yield f"{line(number)[:24]} ERROR [worker-{number % 16:02d}] orders.Service - order {number:08d} failed"
        yield f"java.lang.IllegalStateException: order {number:08d} is in state CLOSED"
        for depth in range(8):
            yield f"\tat com.example.orders.Service$Worker.step{depth}(Service.java:{100 + number % 900})"


def objects(count: int) -> Iterator[str]:
    """Yield JSON objects of about 220 bytes."""
    for number in range(count):
        yield orjson.dumps(
            {
                "time": f"2026-11-21T09:{number // 60 % 60:02d}:{number % 60:02d}.{number % 1000:03d}Z",
                "level": "INFO",
                "logger": "orders.Service",
                "thread": f"worker-{number % 16:02d}",
                "message": "processed order",
                "order": {"id": number, "user": f"u{number % 9973:04d}"},
                "status": 200,
                "ms": number % 500,
                "trace": "7f3a9c51e2d44b0a",
                "path": "/api/v1/orders",
            }
        ).decode()


def container_lines(count: int) -> Iterator[str]:
    """Yield lines as containerd writes them, a thousand per second."""
    for number in range(count):
        second = number // 1000
        time = f"09:{second // 60 % 60:02d}:{second % 60:02d}.{number % 1000:03d}123456"
        yield f"2026-11-21T{time}Z stdout F {line(number)}"


def access_lines(count: int) -> Iterator[str]:
    """Yield lines in the combined format of web servers."""
    for number in range(count):
        yield (
            f"10.1.{number % 256}.{number // 256 % 256} - u{number % 97} [21/Nov/2026:09:30:{number % 60:02d} +0000] "
            f'"GET /api/v1/orders/{number} HTTP/1.1" 200 {number % 5000} "-" "Mozilla/5.0 (X11; Linux x86_64)"'
        )


FIELDS = "{{add_fields: {{target: {0}, fields: {{name: x, n: 1}}}}}}"
TOKENIZER = "%{time} %{level} [%{thread}] %{logger} - %{text} id=%{order} user=%{user} status=%{status} ms=%{ms} %{}"

SHAPES = (
    Shape("plain", "", plain),
    Shape(
        "stack traces, 10 lines per message",
        "400 k/s, 2 µs",
        stack_traces,
        r"parsers: [{multiline: {pattern: '^[0-9]{4}-', negate: true, match: after}}]",
        lines_a_message=10,
    ),
    Shape("ndjson, 220 bytes", "180 k/s, 6 µs", objects, "parsers: [{ndjson: {target: ''}}]"),
    Shape("container (CRI)", "180 k/s", container_lines, "parsers: [{container: {format: cri}}]"),
    Shape("utf-16", "1.5 x plain", plain, "encoding: utf-16le", encoding="utf-16-le"),
    Shape(
        "three add_fields, one drop_event",
        "1.3 x plain",
        plain,
        processors=", ".join(
            (*(FIELDS.format(name) for name in "abc"), "{drop_event.when.contains.message: 'status=FAILED'}")
        ),
    ),
    Shape("dissect", "150 k/s", plain, processors="{dissect: {tokenizer: '" + TOKENIZER + "'}}"),
    Shape("grok", "100 k/s", access_lines, processors="{grok: {patterns: ['%{COMBINEDAPACHELOG}']}}"),
)


def write_shape(shape: Shape, path: Path, count: int) -> None:
    lines = shape.write(count)
    with path.open("w", encoding=shape.encoding, newline="\n") as file:
        while block := list(islice(lines, 10_000)):
            file.write("".join(f"{text}\n" for text in block))


def table(runs: Runs, contender: Contender, rounds: int, lines: int, only: list[str]) -> str:
    results = defaultdict(list)
    chosen = [shape for shape in SHAPES if not only or any(word in shape.name for word in only)]
    for shape in chosen:
        write_shape(shape, runs.directory / shape.name, lines)
    for number in range(rounds):
        for shape in chosen:
            job = runs.job(runs.directory / shape.name, lines // shape.lines_a_message)
            job = replace(job, options=shape.options, processors=shape.processors)
            result = throughput.measure(contender, job)
            results[shape.name].append(result)
            rate = result.events_per_second * shape.lines_a_message / 1000
            report(f"round {number + 1}, {shape.name}: {rate:.0f} k lines/s, {_cost(shape, result):.2f} µs")
    rows = [
        (
            shape.name,
            shape.aim,
            spread([run.events_per_second * shape.lines_a_message for run in results[shape.name]], ".0f", 1e-3),
            spread([_cost(shape, run) for run in results[shape.name]], ".2f"),
            spread([run.memory_mb for run in results[shape.name]], ".0f"),
        )
        for shape in chosen
    ]
    return show((f"{lines} lines", "aim", "k lines/s", "CPU µs per line", "memory MB"), rows)


def _cost(shape: Shape, run: throughput.Throughput) -> float:
    return run.cpu_us / shape.lines_a_message
