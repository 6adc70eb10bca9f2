"""`script/bench`: compares programs in one run, in turns, so that noise affects all of them.

script/bench           one file: rate, CPU, memory; --svg FILE draws a picture
script/bench --quiet   low rates and idle agents: CPU, memory, delay of lines; --svg FILE draws a picture
script/bench --shapes  cost of readers and processors, compared with plain lines
script/bench --scale   10,000 files, a registry of 500,000 entries, a small file with a big one
script/bench --kills   repeated lines after a kill -9
script/bench --delivery  at_least_once and exactly_once: rate, delay
script/bench --http    cost of http.enabled
script/bench --queue   the queue in memory and on disk
script/bench --inputs  each input except files, compared with rsyslog: rate, CPU, dropped datagrams
script/bench --outage  no broker, with every input at full speed: memory, and missing events afterwards
script/bench --churn   a node with 1,000 pods, 500 of which end per minute
script/bench --many    100,000 files; files that are all renamed, all removed, or short-lived (bench/many.py)
script/bench --sink    Kafka to Delta: the sink compared with a minimal job, cost of its parts, delay of rows
script/bench --month   growth in a month of commits and maintenance, simulated in minutes
script/bench --search  time until `spark-sink search` finds a line in a day of rows
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import (
    chart,
    churn,
    inputs,
    kills,
    many,
    outage,
    quiet,
    scale,
    shapes,
    sink,
    sink_month,
    sink_search,
    throughput,
    variants,
)
from bench.contenders import available, of_checkout
from bench.runs import Runs, broker, report
from log_shipper.config.text.units import parse_duration, parse_size

LINES = 1_000_000
# The options that choose other figures than those of one file and of --quiet.
WITHOUT_PICTURE = ("shapes", "kills", *variants.VARIANTS, "inputs", "outage", "scale", "many", "churn")
WITHOUT_PICTURE += ("sink", "month", "search")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.svg and any(getattr(options, name) not in (None, False) for name in WITHOUT_PICTURE):
        parser.error("--svg is only for one file and for --quiet.")
    if options.search:
        report("\n\n".join(sink_search.tables(options.rows, options.rounds)))
        return
    if options.month is not None:
        with tempfile.TemporaryDirectory(prefix="bench-") as name:
            report(sink_month.table(Path(name), options.month, options.every))
        return
    if options.inputs is not None:
        with tempfile.TemporaryDirectory(prefix="bench-") as name:
            report(inputs.table(Path(name), options.rounds, options.inputs))
        return
    if options.outage:
        with tempfile.TemporaryDirectory(prefix="bench-") as name:
            report("\n\n".join(outage.tables(Path(name), options.outage)))
        return
    if options.churn:
        with tempfile.TemporaryDirectory(prefix="bench-") as name:
            report(churn.table(Path(name), options.rounds, options.pods, options.ended, options.churn))
        return
    if options.many is not None:
        with tempfile.TemporaryDirectory(prefix="bench-") as name:
            report(many.table(Path(name), options.many or list(many.SHAPES), options.waiting, options.opened))
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as name, broker(Path(name)) as running:
        runs = Runs(running, Path(name))
        tables = _of_the_sink(options, runs) if options.sink is not None else _of_the_shipper(options, runs)
    text = "\n\n".join(tables)
    report(text)
    if options.svg:
        options.svg.write_text(chart.picture(text), encoding="utf-8")


def _of_the_sink(options: argparse.Namespace, runs: Runs) -> list[str]:
    return sink.tables(runs, options.rounds, options.records, options.sink or sink.PARTS, options.produce)


def _of_the_shipper(options: argparse.Namespace, runs: Runs) -> list[str]:
    contenders = available()
    if options.beside is not None:
        contenders += of_checkout(options.beside.resolve())
    report(
        "measured: "
        + ", ".join(contender.name for contender in contenders)
        + " (more with Debian's packages rsyslog-kafka and kcat)"
    )
    throughput.warm_up(runs, next(contender for contender in contenders if contender.name == "floor"), options.lines)
    if options.shapes is not None:
        shipper = next(contender for contender in contenders if contender.name == "shipper --once")
        return [shapes.table(runs, shipper, options.rounds, options.lines, options.shapes)]
    for name in variants.VARIANTS:
        if getattr(options, name):
            return variants.tables(runs, name, options.rounds, options.lines, options.seconds)
    if options.kills:
        shipper = next(contender for contender in contenders if contender.name == "shipper")
        return [kills.table(runs, shipper, options.rounds, options.lines)]
    if options.scale:
        sizes = scale.ScaleSizes(options.files, options.inactive, options.idle, options.entries, options.big)
        return [scale.table(runs, contenders, options.rounds, sizes, options.only)]
    if options.quiet is not None:
        spans = quiet.Spans(options.seconds, options.idle)
        return quiet.section(runs, contenders, options.rounds, spans, options.quiet)
    readers = [contender for contender in contenders if not contender.closes]
    return [throughput.table(runs, readers, options.rounds, options.lines)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="script/bench", description="Measure the figures of docs/explained/figures.md."
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument(
        "--quiet",
        nargs="*",
        metavar="WORD",
        help="low rates and idle agents: tables with a WORD in the title (default: all)",
    )
    parser.add_argument("--seconds", type=float, default=12.0, help="duration of each rate")
    parser.add_argument("--idle", type=float, default=30.0, metavar="SECONDS", help="duration of idle measurements")
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="also measure the shipper of another checkout")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a picture of the figures")
    parser.add_argument(
        "--shapes", nargs="*", metavar="WORD", help="other messages: those with a WORD in the name (default: all)"
    )
    parser.add_argument("--kills", action="store_true", help="kill and restart the shipper, and count repeated lines")
    parser.add_argument("--delivery", action="store_true", help="compare at_least_once and exactly_once")
    parser.add_argument("--queue", action="store_true", help="compare the queue in memory and on disk")
    parser.add_argument("--http", action="store_true", help="measure the cost of http.enabled")
    parser.add_argument(
        "--inputs", nargs="*", metavar="WORD", help="inputs except files: those with a WORD in the name (default: all)"
    )
    parser.add_argument(
        "--outage", type=float, nargs="?", const=600.0, metavar="SECONDS", help="duration of an outage of the broker"
    )
    sizes = parser.add_argument_group("--scale")
    sizes.add_argument("--scale", action="store_true", help="many files, many entries, a small file with a big one")
    sizes.add_argument("--only", choices=scale.PARTS, nargs="+", default=scale.PARTS, help="parts of --scale")
    sizes.add_argument("--files", type=int, default=10_000)
    sizes.add_argument(
        "--inactive", type=parse_duration, default=20.0, help="close.on_state_change.inactive of closed files"
    )
    sizes.add_argument("--entries", type=int, default=500_000, help="entries in the large registry")
    sizes.add_argument("--big", type=parse_size, default=2 * 1024**3, help="size of the big file, such as 10GiB")
    _add_crowds(parser)
    landing = parser.add_argument_group("--sink")
    landing.add_argument("--sink", choices=sink.PARTS, nargs="*", help="Kafka to Delta: parts (default: all)")
    landing.add_argument("--records", type=int, default=3_000_000)
    landing.add_argument("--produce", type=float, default=60.0, metavar="SECONDS", help="duration of delay runs")
    passing = parser.add_argument_group("--month")
    passing.add_argument("--month", type=int, nargs="?", const=30, metavar="DAYS", help="days; needs no broker")
    passing.add_argument("--every", type=parse_duration, default=120.0, help="interval of batches")
    searching = parser.add_argument_group("--search")
    searching.add_argument("--search", action="store_true", help="spark-sink search in a day of rows; needs no broker")
    searching.add_argument("--rows", type=int, default=20_000_000)
    return parser


def _add_crowds(parser: argparse.ArgumentParser) -> None:
    churning = parser.add_argument_group("--churn")
    churning.add_argument(
        "--churn",
        type=float,
        nargs="?",
        const=60.0,
        metavar="SECONDS",
        help="duration of the churn of pods; needs no broker",
    )
    churning.add_argument("--pods", type=int, default=1000)
    churning.add_argument("--ended", type=float, default=500.0, metavar="PODS", help="pods that end per minute")
    crowds = parser.add_argument_group("--many")
    crowds.add_argument("--many", choices=many.SHAPES, nargs="*", help="many files, or short-lived files")
    crowds.add_argument("--waiting", type=int, default=100_000, metavar="FILES", help="files that wait to be opened")
    crowds.add_argument("--opened", type=int, default=5000, metavar="FILES", help="files that are renamed or removed")


if __name__ == "__main__":
    main()
