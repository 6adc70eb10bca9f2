"""`script/bench`: everything side by side in one run; the contenders take turns, so that noise affects all of them.

script/bench           one file: how fast, for how much; --svg FILE draws a picture of that
script/bench --quiet   some lines a second, and none: what an agent costs, how late a line is; --svg FILE as well
script/bench --shapes  what readers and processors cost, beside the plain path
script/bench --scale   ten thousand files, a registry of 500,000 entries, a small file beside a big one
script/bench --kills   how many lines arrive twice after a kill -9
script/bench --delivery  at_least_once and exactly_once side by side: how fast, how late
script/bench --http    what http.enabled costs
script/bench --queue   the queue in memory and the one on disk side by side
script/bench --inputs  each input that is not files, beside rsyslog: how fast, at which cost, what is dropped
script/bench --outage  the broker away, and every input at full speed: memory, and whether all arrives afterwards
script/bench --churn   a thousand pods on a node, of which five hundred a minute end
script/bench --many    100,000 files, and files that are all renamed, all removed, or come and go (bench/many.py)
script/bench --sink    Kafka to Delta: the sink beside the barest job, what each part costs, how late a row is visible
script/bench --month   a month of commits and maintenance in minutes: what grows
script/bench --search  how soon `spark-sink search` finds a line in a day of rows
"""

import argparse
import tempfile
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


def main() -> None:
    parser = _parser()
    options = parser.parse_args()
    if options.svg and (options.scale or options.shapes is not None or options.sink is not None):
        parser.error("--svg draws the figures of one file: leave out --shapes, --scale and --sink")
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
        + " (of Debian's packages: rsyslog-kafka, kcat)"
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
        prog="script/bench", description="Measures the figures of docs/explained/figures.md."
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument(
        "--quiet",
        nargs="*",
        metavar="WORD",
        help="some lines a second, and none: those with a word in their title, or all",
    )
    parser.add_argument("--seconds", type=float, default=12.0, help="of following, for each rate")
    parser.add_argument("--idle", type=float, default=30.0, metavar="SECONDS", help="how long nothing is written")
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="measure the shipper of another commit, too")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a picture of the figures")
    parser.add_argument(
        "--shapes", nargs="*", metavar="WORD", help="messages of other shapes: those with a word in their name, or all"
    )
    parser.add_argument("--kills", action="store_true", help="kill the shipper, start it again, count the repeats")
    parser.add_argument("--delivery", action="store_true", help="at_least_once and exactly_once side by side")
    parser.add_argument("--queue", action="store_true", help="the queue in memory and the one on disk side by side")
    parser.add_argument("--http", action="store_true", help="what http.enabled costs")
    parser.add_argument(
        "--inputs", nargs="*", metavar="WORD", help="inputs that are not files: those with a word in their name, or all"
    )
    parser.add_argument(
        "--outage", type=float, nargs="?", const=600.0, metavar="SECONDS", help="the broker away for so long"
    )
    sizes = parser.add_argument_group("--scale")
    sizes.add_argument("--scale", action="store_true", help="many files, many entries, a big file beside a small one")
    sizes.add_argument("--only", choices=scale.PARTS, nargs="+", default=scale.PARTS, help="parts of --scale")
    sizes.add_argument("--files", type=int, default=10_000)
    sizes.add_argument(
        "--inactive", type=parse_duration, default=20.0, help="close.on_state_change.inactive where files get closed"
    )
    sizes.add_argument("--entries", type=int, default=500_000, help="of the large registry")
    sizes.add_argument("--big", type=parse_size, default=2 * 1024**3, help="size of the big file, as 10GiB")
    _add_crowds(parser)
    landing = parser.add_argument_group("--sink")
    landing.add_argument("--sink", choices=sink.PARTS, nargs="*", help="Kafka to Delta, or parts of that")
    landing.add_argument("--records", type=int, default=3_000_000)
    landing.add_argument("--produce", type=float, default=60.0, metavar="SECONDS", help="how long delays are measured")
    passing = parser.add_argument_group("--month")
    passing.add_argument("--month", type=int, nargs="?", const=30, metavar="DAYS", help="of a sink; needs no broker")
    passing.add_argument("--every", type=parse_duration, default=120.0, help="from one batch to the next")
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
        help="pods that come and go, for so long; needs no broker",
    )
    churning.add_argument("--pods", type=int, default=1000)
    churning.add_argument("--ended", type=float, default=500.0, metavar="PODS", help="that end a minute")
    crowds = parser.add_argument_group("--many")
    crowds.add_argument("--many", choices=many.SHAPES, nargs="*", help="very many files, or short-lived ones")
    crowds.add_argument("--waiting", type=int, default=100_000, metavar="FILES", help="that wait to be opened")
    crowds.add_argument("--opened", type=int, default=5000, metavar="FILES", help="that are renamed or removed")


if __name__ == "__main__":
    main()
