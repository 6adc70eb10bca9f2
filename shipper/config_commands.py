"""The commands that show or check a configuration and start nothing: `export config`, `test config`, `test
pipeline`."""

import argparse
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from config.export import export
from config.migration import migrate
from config.shipper.model import ShipperConfig
from shipper import app
from shipper.clock import SystemClock
from shipper.errors import StartError
from shipper.explain import explain
from shipper.keystore_commands import add_keystore_commands
from shipper.metrics import Metrics
from shipper.preview import Preview, chosen
from shipper.processor.base import ProcessorContext
from shipper.processor.caches import Caches
from shipper.record import Agent
from shipper.subcommands import AddCommon, Written

Load = Callable[[argparse.Namespace], ShipperConfig]


class ConfigCommands:
    def __init__(self, load: Load, written: Written) -> None:
        self._load = load
        self._written = written

    def add_tests(self, tests: "argparse._SubParsersAction[argparse.ArgumentParser]", add_common: AddCommon) -> None:
        config = tests.add_parser("config", help="check the configuration")
        config.add_argument(
            "--strict",
            dest="refuse_warnings",
            action="store_true",
            help="exit with 1 for a warning, too",
        )
        config.add_argument(
            "--explain", action="store_true", help="show what each input does, and how many files it matches now"
        )
        add_common(config, self._test_config)
        pipeline = tests.add_parser("pipeline", help="show what happens to the lines of standard input")
        pipeline.add_argument(
            "--input", metavar="ID", help="whose readers and processors (default: by --path, or the first)"
        )
        pipeline.add_argument("--path", default="-", help="what the events have in log.file.path; chooses the input")
        pipeline.add_argument("--whole", action="store_true", help="show whole records, host and agent included")
        add_common(pipeline, self._test_pipeline)

    def add_exports(
        self, exports: "argparse._SubParsersAction[argparse.ArgumentParser]", add_common: AddCommon
    ) -> None:
        add_common(exports.add_parser("config", help="print the configuration in effect, secrets masked"), self._export)

    def add_migrate(self, commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
        migrating = commands.add_parser("migrate", help="print a filebeat.yml with today's names for old ones")
        migrating.add_argument(
            "file", type=Path, metavar="FILE", help="a configuration, or a file with a list of inputs"
        )
        migrating.set_defaults(command=self._migrate)

    def _migrate(self, options: argparse.Namespace) -> int:
        migrated = migrate(options.file)
        sys.stdout.write(migrated.text)
        for change in migrated.changes or (f"{options.file}: no old names",):
            print(change, file=sys.stderr)  # noqa: T201
        return 0

    def add_keystore(self, parser: argparse.ArgumentParser, add_common: AddCommon) -> None:
        add_keystore_commands(parser, add_common, self._written)

    def _test_config(self, options: argparse.Namespace) -> int:
        config = self._checked(options, sys.stdout)
        for line in explain(config) if options.explain else ():
            print(line)  # noqa: T201
        if options.refuse_warnings and config.warnings:
            print("not OK: with --strict a warning counts as a mistake")  # noqa: T201
            return 1
        print("Config OK")  # noqa: T201
        return 0

    def _test_pipeline(self, options: argparse.Namespace) -> int:
        config = self._checked(options, sys.stderr)
        name = config.name or socket.gethostname()
        clock = SystemClock()
        agent = Agent(name, name, "preview", "preview")
        context = ProcessorContext(agent, Path(config.path.data), Metrics(), clock, Caches(clock))
        if sys.stdin is None:
            raise StartError("test pipeline: standard input is closed; give it lines, as in: < app.log")
        config_input, reason = chosen(config, options.input, options.path)
        if reason:
            sys.stderr.write(f"{reason}\n")
        if sys.stdin.isatty():
            sys.stderr.write("give it lines, and then Ctrl-D; or a file, as in: < app.log\n")
        preview = Preview(config, config_input, context, options.path, whole=options.whole)
        for line in preview.of(sys.stdin.buffer.read()):
            print(line)  # noqa: T201
        return 0

    def _export(self, options: argparse.Namespace) -> int:
        files, overrides = self._written(options)
        sys.stdout.write(export(files, overrides))
        return 0

    def _checked(self, options: argparse.Namespace, to: TextIO) -> ShipperConfig:
        config = self._load(options)
        app.check(config)
        for line in (*(f"warning: {warning}" for warning in config.warnings), *config.notes):
            print(line, file=to)
        return config
