"""The commands of `spark-sink`: each loads the configuration and calls the module that does the work.

Modules that need pyspark are imported late: so a wrong configuration is reported at once, even without pyspark.
"""

import argparse
import importlib.util
import json
import logging
import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from log_shipper import VERSION
from log_shipper.config.export import export
from log_shipper.config.yaml.document import Override
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.config.yaml.load import load
from log_shipper.config.yaml.report import Examination
from log_shipper.runtime.logs.journal import report
from log_shipper.runtime.logs.visible import visible
from log_shipper.spark_sink import logs
from log_shipper.spark_sink.options.model import SinkConfig

logger = logging.getLogger(__name__)

Work = Callable[[SinkConfig], int]


def run(options: argparse.Namespace) -> int:
    def work(config: SinkConfig) -> int:
        from log_shipper.spark_sink import job
        from log_shipper.spark_sink.monitor.document import Program

        shown = _exported(options) if config.http.enabled else ""
        return job.run(config, Program(VERSION, socket.gethostname(), shown))

    return _with_spark(options, work)


def maintain(options: argparse.Namespace) -> int:
    def work(config: SinkConfig) -> int:
        from log_shipper.spark_sink.maintenance import maintain

        if options.json:
            logs.set_up(False, config.logging, sys.stdout)
        return maintain.run(config, options.dry_run)

    return _run(options, work)


def status(options: argparse.Namespace) -> int:
    def work(config: SinkConfig) -> int:
        from log_shipper.spark_sink.maintenance import status

        return status.run(config, options.json)

    return _run(options, work)


def search(options: argparse.Namespace) -> int:
    """Find lines. Exit codes like grep: 2 after an error."""
    if missing := _missing_for_search():
        print(missing, file=sys.stderr)  # noqa: T201
        return 2
    from log_shipper.spark_sink.search import command

    return command.run(options, time.sleep)


def ui(options: argparse.Namespace) -> int:
    """Serve the page to search the tables."""
    if missing := _missing_for_search():
        report(missing, sys.stderr)
        return 1
    from log_shipper.spark_sink.errors import SinkError
    from log_shipper.spark_sink.search.ui import server

    config = None if options.tables else config_of(options)
    logs.set_up(logs.is_text(config.logging) if config else True, config.logging if config else None)
    try:
        code = server.serve(config, options.tables, options.port)
    except SinkError as error:
        logger.error(str(error))
        return 1
    logging.shutdown()
    os._exit(code)  # threads may still read in Arrow or DuckDB, which abort when the interpreter ends


def _missing_for_search() -> str:
    modules = ("deltalake", "duckdb", "orjson", "pyarrow")
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(missing)}; pip install '.[search]' in the project's directory" if missing else ""


def repair(options: argparse.Namespace) -> int:
    def work(config: SinkConfig) -> int:
        from log_shipper.spark_sink.maintenance import repair

        return repair.run(config, options.reason, options.from_kafka, options.dry_run)

    return _with_spark(options, work)


def check_config(options: argparse.Namespace) -> int:
    if options.json:
        return _print_findings(options)
    config = config_of(options, _parsed)
    for line in (*(f"warning: {warning}" for warning in config.warnings), *config.notes):
        print(line)  # noqa: T201
    print("Config OK")  # noqa: T201
    return 0


def _print_findings(options: argparse.Namespace) -> int:
    problems: list[dict[str, object]] = []
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    try:
        config = config_of(options, _parsed)
        warnings, notes = config.warnings, config.notes
    except ConfigError as error:
        problems = error.findings
    findings = {"ok": not problems, "problems": problems, "warnings": warnings, "notes": notes}
    print(visible(json.dumps(findings, ensure_ascii=False)))  # noqa: T201
    return 1 if problems else 0


def check_output(options: argparse.Namespace) -> int:
    def work(config: SinkConfig) -> int:
        from log_shipper.spark_sink import check_output

        return check_output.run(config)

    return _with_spark(options, work)


def export_config(options: argparse.Namespace) -> int:
    config_of(options)  # raises before anything is printed
    sys.stdout.write(_exported(options))
    return 0


def print_schema(_: argparse.Namespace) -> int:
    from log_shipper.config.json_schema import schema_text

    sys.stdout.write(schema_text(SinkConfig, "sink.yml"))
    return 0


def _exported(options: argparse.Namespace) -> str:
    """Return the effective configuration as YAML, with masked secrets."""
    return export(options.files, SinkConfig, options.overrides)


def _parsed(config: SinkConfig) -> Examination:
    """Let Spark parse the SQL of the views, if there are any. Takes a second or two."""
    if not config.views:
        return Examination()
    if importlib.util.find_spec("pyspark") is None:
        return Examination(warnings=(("views", "SQL not checked: pyspark is not installed"),))
    from log_shipper.spark_sink.views import syntax

    return syntax.examine(config)


def config_of(options: argparse.Namespace, examine: Callable[[SinkConfig], Examination] | None = None) -> SinkConfig:
    """Return the configuration of the command line. Raises ConfigError."""
    levels: list[Override] = []
    if options.debugged is not None:
        selectors = f"logging.selectors={json.dumps(options.debugged)}"
        levels = [Override("logging.level=debug", "-d"), Override(selectors, "-d")]
    config = load(options.files, SinkConfig, [*levels, *options.overrides], examine=examine)
    if getattr(options, "available_now", False):
        return replace(config, stop="available-now", stop_timestamp=None, stop_offsets={})
    return config


def _with_spark(options: argparse.Namespace, work: Work) -> int:
    return _run(options, work, "pyspark")


def _run(options: argparse.Namespace, work: Work, needed: str = "deltalake") -> int:
    config = config_of(options)
    if importlib.util.find_spec(needed) is None:
        report(f"{needed} is not installed: pip install '.[sink]' in the project's directory", sys.stderr)
        return 1
    from log_shipper.spark_sink.errors import SinkError
    from log_shipper.spark_sink.platform.java import NoJava

    logs.set_up(logs.is_text(config.logging), config.logging)
    for note in (*config.warnings, *config.notes):
        logger.warning(note)
    try:
        return work(config)
    except (SinkError, NoJava) as error:
        logger.error(str(error), extra=logs.trace(str(error.__cause__ or "")))
        return 1
