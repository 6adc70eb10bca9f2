"""The CPU time of one process to convert records to rows, without reading Kafka and without writing.

python -m bench.sink_rows [COUNT]
"""

import gc
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bench.sink_records import BAD, record
from log_shipper.spark_sink.options.template import parse_template
from log_shipper.spark_sink.rows.batches import KafkaRecords, RowOptions
from log_shipper.spark_sink.rows.conversion import Conversion
from log_shipper.spark_sink.rows.place_headers import Headers

RUN = 10_000  # records in a run
BEGIN = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
Record = tuple[bytes, Headers | None]


def flat(number: int) -> Record:
    """Return a record of 216 bytes; a hundred of a file have the same time, as in a batch."""
    return record(number, BEGIN + timedelta(milliseconds=number // 100))[1], None


def agents(number: int) -> Record:
    """Return a record with all members of the shipper's records."""
    value, _ = flat(number)
    head, tail = value.split(b'}},"host"')
    return (
        head + b',"inode":"811","device_id":"2049"}},"input":{"type":"filestream","id":"app"},"host"' + tail[:-1] + b","
        b'"agent":{"type":"shipper","version":"0.3.0","id":"agent-1","name":"web-1"},"ecs":{"version":"8.17.0"}}'
    ), None


def parsed(number: int) -> Record:
    """Return a record with individual members, as parsers add."""
    own = b'"http":{"response":{"status_code":%d},"took":%d.5}}' % (number % 500, number)
    return agents(number)[0][:-1] + b"," + own, None


def own_times(number: int) -> Record:
    """Return a record with an individual time."""
    return record(number, BEGIN + timedelta(milliseconds=7 * number))[1], None


def text(number: int) -> Record:
    """Return a record whose value is only the message."""
    place = {"log.file.id": b"%016x" % (number // 100 % 64), "log.offset": b"%d" % (number * 87), "log.length": b"87"}
    line = {"@timestamp": b"2026-11-21T09:30:00.%03dZ" % (number // 1600 % 1000), "host.name": b"web-1"}
    return b"the quick brown fox jumps over the lazy dog", [*(place | line).items()]


def bad(every: int) -> Callable[[int], Record]:
    return lambda number: (BAD, None) if number % every == 0 else flat(number)


SHAPES: dict[str, Callable[[int], Record]] = {
    "216 bytes": flat,
    "216 bytes, 1 % bad": bad(100),
    "216 bytes, 10 % bad": bad(10),
    "216 bytes, individual times": own_times,
    "all members of the shipper": agents,
    "individual members": parsed,
    "only the message, place in headers": text,
}


def runs(shape: Callable[[int], Record], count: int) -> list[KafkaRecords]:
    made = []
    for first in range(0, count, RUN):
        numbers = range(first, min(first + RUN, count))
        values, headers = zip(*map(shape, numbers), strict=True)
        size = len(numbers)
        made.append(KafkaRecords("logs", 0, numbers, [1_795_253_400_000] * size, [b"key"] * size, values, headers))
    return made


def measure(shape: Callable[[int], Record], count: int) -> float:
    """Return CPU microseconds per record."""
    prepared = runs(shape, count)
    conversion = Conversion(RowOptions(parse_template("/data/lines")), lambda: BEGIN)
    gc.collect()
    gc.freeze()  # keeps the prepared records out of collections
    began = time.process_time()
    for run in prepared:
        conversion.convert(run)
    taken = time.process_time() - began
    gc.unfreeze()
    return taken / count * 1e6


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    for name, shape in SHAPES.items():
        print(f"{name}: {measure(shape, count):.2f} µs per record")  # noqa: T201


if __name__ == "__main__":
    main()
