"""The command `spark-sink`, also `python -m spark_sink`.

Exit codes: 0 all that was asked for is landed, or a signal stopped it; 1 the configuration is wrong, or the job could
not go on (the last line on stderr says why); 2 the command line is wrong.
"""

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from config.errors import ConfigError
from config.load import load
from config.sink import SinkConfig


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        config = load(options.config, SinkConfig, options.set)
    except ConfigError as error:
        return _failed(str(error))
    if importlib.util.find_spec("pyspark") is None:
        return _failed("pyspark is not installed: pip install 'log-shipper[sink]'")
    return _run(config, options.available_now)


def _run(config: SinkConfig, available_now: bool) -> int:
    # Imported late: they need pyspark, and a mistake in the configuration should show at once.
    from spark_sink import job
    from spark_sink.errors import SinkError
    from spark_sink.jars import JarsMissing
    from spark_sink.java import NoJava
    from spark_sink.progress import Report

    text = config.logging.format == "text" or (config.logging.format == "auto" and sys.stderr.isatty())
    report = Report(text, config.logging.level)
    for note in config.notes:
        report.say(note, "warning")
    try:
        job.run(config, available_now, report)
    except (SinkError, JarsMissing, NoJava) as error:
        report.failure(str(error), str(error.__cause__ or ""))
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "spark-sink", description="Lands Kafka topics of log lines in Delta tables, each line once."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="read the topics and write the tables until stopped")
    run.add_argument("-c", "--config", type=Path, required=True, metavar="FILE", help="the configuration (YAML)")
    run.add_argument(
        "-E", dest="set", action="append", default=[], metavar="KEY=VALUE", help="lay a value over the configuration"
    )
    run.add_argument("--available-now", action="store_true", help="land what is in the topics now, then end")
    return parser


def _failed(message: str) -> int:
    print(message, file=sys.stderr)  # noqa: T201 - before there is a configuration, nothing says how to log
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
