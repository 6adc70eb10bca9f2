"""`shipper test`: checks a configuration without starting anything.

Imports for only one of the checks are local to it.
"""

import argparse
import json
import socket
import sys
from pathlib import Path
from typing import TextIO

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.runtime.logs.visible import visible
from log_shipper.shipper.agent.static_fields import check_fields
from log_shipper.shipper.cli.options import add_shared, keystore_values, load_config
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.model import ShipperConfig

HEALTH_TIMEOUT = 3.0  # seconds; probes wait at most five


def add_tests(parser: argparse.ArgumentParser) -> None:
    tests = parser.add_subparsers(required=True, metavar="WHAT")
    config = tests.add_parser("config", help="check the configuration")
    config.add_argument(
        "--strict",
        dest="refuse_warnings",
        action="store_true",
        help="exit with 1 on warnings, too",
    )
    config.add_argument(
        "--explain", action="store_true", help="show what each input does and how many files it matches"
    )
    config.add_argument("--json", action="store_true", help="print findings as a JSON object")
    add_shared(config, _test_config)
    pipeline = tests.add_parser("pipeline", help="show how lines from standard input are processed")
    pipeline.add_argument(
        "--input", metavar="ID", help="the input whose parsers and processors apply (default: by --path, or the first)"
    )
    pipeline.add_argument("--path", default="-", help="the value of log.file.path in events; selects the input")
    pipeline.add_argument("--whole", action="store_true", help="show complete records, including host and agent")
    add_shared(pipeline, _test_pipeline)
    add_shared(tests.add_parser("output", help="connect to the output, step by step"), _test_output)
    health = tests.add_parser("health", help="check that the running agent is alive")
    health.add_argument("--ready", action="store_true", help="also check that its output responded")
    add_shared(health, _test_health)


def _test_config(options: argparse.Namespace) -> int:
    if options.json:
        return _print_findings(options)
    config = _checked(options, sys.stdout)
    if options.explain:
        from log_shipper.shipper.cli.explain import explain

        for line in explain(config, keystore_values(options)):
            print(line)  # noqa: T201
    if options.refuse_warnings and config.warnings:
        print("not OK: --strict treats warnings as errors")  # noqa: T201
        return 1
    print("Config OK")  # noqa: T201
    return 0


def _print_findings(options: argparse.Namespace) -> int:
    """Print the findings as JSON, for programs such as deployment tools, and return the exit code."""
    problems: list[dict[str, object]] = []
    config = None
    try:
        config = load_config(options)
        check_fields(config)
    except ConfigError as error:
        problems = error.findings
    except StartError as error:
        problems = [{"message": str(error)}]
    warnings, notes = (config.warnings, config.notes) if config is not None else ((), ())
    well = not problems and not (options.refuse_warnings and warnings)
    findings = {"ok": well, "problems": problems, "warnings": warnings, "notes": notes}
    print(visible(json.dumps(findings, ensure_ascii=False)))  # noqa: T201
    return 0 if well else 1


def _test_pipeline(options: argparse.Namespace) -> int:
    from log_shipper.shipper.cli.preview import Preview, chosen
    from log_shipper.shipper.clock import SystemClock
    from log_shipper.shipper.formats.record import Agent
    from log_shipper.shipper.metrics import Metrics
    from log_shipper.shipper.processor.base import ProcessorContext
    from log_shipper.shipper.processor.caches import Caches

    config = _checked(options, sys.stderr)
    name = config.name or socket.gethostname()
    clock = SystemClock()
    agent = Agent(name, name, "preview", "preview")
    context = ProcessorContext(agent, Path(config.path.data), Metrics(), clock, Caches(clock))
    if sys.stdin is None:
        raise StartError("test pipeline: standard input is closed; pipe lines into it, as in: < app.log")
    config_input, reason = chosen(config, options.input, options.path)
    if reason:
        sys.stderr.write(f"{reason}\n")
    if sys.stdin.isatty():
        sys.stderr.write("enter lines, then Ctrl-D; or use a file, as in: < app.log\n")
    preview = Preview(config, config_input, context, options.path, whole=options.whole)
    for line in preview.render(sys.stdin.buffer.read()):
        print(line)  # noqa: T201
    return 0


def _test_output(options: argparse.Namespace) -> int:
    from log_shipper.shipper.outputs.base import kind_of

    config = load_config(options)
    return 0 if kind_of(config).try_out(print_step) else 1


def print_step(step: str, problem: str = "") -> bool:
    print(f"{step}... {'ERROR ' + problem if problem else 'OK'}")  # noqa: T201
    return not problem


def _test_health(options: argparse.Namespace) -> int:
    from log_shipper.runtime.monitor.client import get
    from log_shipper.shipper.cli.options import data_path, data_path_alone, files
    from log_shipper.shipper.monitor.running_agent import errors_in_words, socket_of

    # For example in a container: the data is in the working directory, the configuration elsewhere.
    unnamed = not options.configs and not files(options)[0].exists()
    place = socket_of(data_path(options, None) if unnamed else data_path_alone(options))
    with errors_in_words(place):
        answer = get(place, "/readyz" if options.ready else "/healthz", HEALTH_TIMEOUT)
    print(answer.decode().strip())  # noqa: T201
    return 0


def _checked(options: argparse.Namespace, to: TextIO) -> ShipperConfig:
    config = load_config(options)
    check_fields(config)
    for line in (*(f"warning: {warning}" for warning in config.warnings), *config.notes):
        print(line, file=to)
    return config
