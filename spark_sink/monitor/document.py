"""The document at /status, which the page draws: the state of the sink, in the same form as the shipper's.

docs/reference/sink-metrics.md describes it. It never contains the content of a record.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from log_shipper.runtime.logs.recent import RecentMessage
from log_shipper.runtime.monitor.document import Document, chart, table
from log_shipper.runtime.monitor.health import Health
from log_shipper.spark_sink.landing.stages import STAGES
from log_shipper.spark_sink.monitor.observations import SinkState
from log_shipper.spark_sink.monitor.samples import STEP, Samples

MAX_TOPICS = 3  # lines of a chart, besides "others"
MAX_ROWS = 50  # of a table; those that need attention come first


@dataclass(frozen=True, slots=True)
class Program:
    """The constant part of the document. `configuration`: as YAML, with masked secrets."""

    version: str
    host: str
    configuration: str = ""

    def head(self) -> Document:
        return {"program": "spark-sink", "version": self.version, "name": self.host, "host": self.host}


def document(
    program: Program, state: SinkState, health: Health, samples: Samples, problems: Sequence[RecentMessage], now: float
) -> Document:
    return {
        **program.head(),
        "started": state.started,
        "now": now,
        "health": health.document(),
        "figures": list(_figures(state, samples.rate(), now)),
        "charts": _charts(samples),
        "tables": [
            _partitions(state, now),
            _tables(state),
            _dead_letters(state),
            _stages(state),
            _views(state),
            _problems(problems),
        ],
        "configuration": program.configuration,
    }


def _figures(state: SinkState, rate: float | None, now: float) -> Iterator[Document]:
    yield {**_figure("rows_landed", "Rows landed", state.rows, "rows"), "rate": rate}
    yield {**_figure("lag_offsets", "Lag", state.lag, "records"), "seconds": state.longest_lag_seconds(now)}
    yield _figure("rows_bad", "Bad records", state.bad, "records")
    yield _figure("rows_repeated", "Repeats left out", state.repeats, "rows")
    yield _figure("offsets_lost", "Records lost", state.lost, "records")
    yield _figure("batch_seconds", "Last micro-batch's duration", state.batch_seconds, "seconds")
    yield _figure("batches", "Micro-batches", state.batches, "batches")
    yield _figure("files_remembered", "Files remembered", state.files, "files")


def _figure(name: str, label: str, value: float | None, unit: str) -> Document:
    return {"id": name, "label": label, "value": value, "unit": unit}


def _charts(samples: Samples) -> list[Document]:
    def drawn(name: str, title: str, unit: str, lines: Mapping[str, Sequence[float | None]]) -> Document:
        series = {(line, line): values for line, values in lines.items()}
        return chart(name, title, unit, series, step=STEP, until=samples.until)

    values, rates = samples.values, samples.rates
    cpu = [None if share is None else round(100 * share, 1) for share in rates(lambda sample: sample.cpu)]
    delays = {"longest": values(lambda sample: sample.longest), "shortest": values(lambda sample: sample.shortest)}
    return [
        drawn("rows", "Rows a second, mean of 30 s", "rows/s", {"landed": rates(lambda sample: sample.rows)}),
        drawn("lag", "Lag at the last micro-batch", "records", {"behind": samples.lags()}),
        drawn("topics", "Records a second by topic, mean of 30 s", "records/s", _by_topic(samples)),
        drawn("lag_seconds", "Lag in time", "seconds", {"behind": values(lambda sample: sample.lag_seconds)}),
        drawn("batch", "Duration of a micro-batch", "seconds", {"last": values(lambda sample: sample.batch_seconds)}),
        drawn("delay", "Delay from Kafka to the table", "seconds", delays),
        drawn("cpu", "CPU on this machine, 100 % is one core", "percent", {"used": cpu}),
        drawn("memory", "Memory on this machine", "bytes", {"resident": values(lambda sample: sample.memory)}),
    ]


def _by_topic(samples: Samples) -> dict[str, list[float | None]]:
    """Return the rates of the topics with the most records, and of all others together."""
    latest = samples.latest
    counts = {} if latest is None else latest.topics
    names = sorted(counts, key=lambda topic: (-counts[topic], topic))
    lines = {name: _rates_of(samples, [name]) for name in names[:MAX_TOPICS]}
    others = names[MAX_TOPICS:]
    return {**lines, f"{len(others)} others": _rates_of(samples, others)} if others else lines


def _rates_of(samples: Samples, topics: Sequence[str]) -> list[float | None]:
    return samples.rates(lambda sample: sum(sample.topics.get(topic, 0) for topic in topics))


def _table(
    name: str, title: str, empty: str, columns: Sequence[tuple[str, str, str]], rows: list[list[Any]]
) -> Document:
    return table(name, title, empty, columns, rows[:MAX_ROWS])


def _partitions(state: SinkState, now: float) -> Document:
    lags = state.lags
    rows = [
        [*place, state.landed.get(place, 0), state.ends[place], lags[place], state.lag_seconds(place, now)]
        for place in sorted(lags, key=lambda place: (-lags[place], place))
    ]
    columns = (
        ("topic", "Topic", "text"),
        ("partition", "Partition", "number"),
        ("landed", "Next offset to land", "number"),
        ("end", "End in Kafka", "number"),
        ("lag", "Records behind", "number"),
        ("lag_seconds", "Behind", "seconds"),
    )
    return _table("partitions", "Partitions, furthest behind first", "No micro-batch has landed yet.", columns, rows)


def _tables(state: SinkState) -> Document:
    rows = [[path, size.rows, size.files, size.bytes] for path, size in sorted(state.tables.items())]
    columns = (
        ("path", "Table", "text"),
        ("rows", "Rows", "number"),
        ("files", "Files", "number"),
        ("bytes", "Size", "bytes"),
    )
    return _table("tables", "Delta tables", "No table has been opened yet.", columns, rows)


def _dead_letters(state: SinkState) -> Document:
    rows = [
        [text, bad.count, state.cause_times[text], bad.topic, bad.partition, bad.offset]
        for text, bad in sorted(state.causes.items(), key=lambda item: -state.cause_times[item[0]])
    ]
    columns = (
        ("reason", "Reason", "text"),
        ("count", "Records", "number"),
        ("last", "Last landed", "time"),
        ("topic", "The last one: topic", "text"),
        ("partition", "Partition", "number"),
        ("offset", "Offset", "number"),
    )
    return _table("dead_letters", "Dead letters since the start", "No record was bad.", columns, rows)


def _stages(state: SinkState) -> Document:
    rows = [[stage, STAGES[stage], seconds.last, seconds.mean] for stage, seconds in state.stages.items()]
    columns = (
        ("stage", "Stage", "text"),
        ("what", "What happens", "text"),
        ("last", "Last micro-batch", "seconds"),
        ("mean", "Mean", "seconds"),
    )
    return _table("stages", "Seconds of a micro-batch, by stage", "No micro-batch has landed yet.", columns, rows)


def _views(state: SinkState) -> Document:
    rows = [
        [
            name,
            "failed" if figures.failed else "running" if figures.batches else "starting",
            figures.rows_in,
            figures.late,
            figures.state_rows,
            figures.seconds,
            figures.failures,
        ]
        for name, figures in sorted(state.views.items(), key=lambda item: (not item[1].failed, item[0]))
    ]
    columns = (
        ("view", "View", "text"),
        ("state", "State", "text"),
        ("rows_in", "Rows read", "number"),
        ("late", "Late rows", "number"),
        ("state_rows", "Rows remembered", "number"),
        ("seconds", "Last micro-batch", "seconds"),
        ("failures", "Failures", "number"),
    )
    return _table("views", "Views", "The configuration has no views.", columns, rows)


def _problems(problems: Sequence[RecentMessage]) -> Document:
    rows: list[list[Any]] = [[problem.time, problem.level, problem.message, problem.count] for problem in problems]
    columns = (
        ("time", "Last time", "time"),
        ("level", "Level", "text"),
        ("message", "Message", "text"),
        ("count", "Times", "number"),
    )
    return _table("errors", "Last warnings and errors", "The log has no warning and no error.", columns, rows)
