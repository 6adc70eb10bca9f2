"""`shipper run`: reads the configuration, sets up signals and logging, and runs the agent."""

import argparse
import faulthandler
import resource
import socket
import sys
from contextlib import closing
from functools import partial

from log_shipper.config.text.units import parse_duration
from log_shipper.runtime.systemd import Notifier
from log_shipper.shipper.agent import logs, running
from log_shipper.shipper.agent.environment import Environment
from log_shipper.shipper.agent.reload import ConfigSource, log_findings
from log_shipper.shipper.agent.service import Service
from log_shipper.shipper.agent.signals import Signals
from log_shipper.shipper.agent.static_fields import check_fields
from log_shipper.shipper.cli.options import add_shared, argument, data_path, files, load_config, written
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.outputs.base import kind_of
from log_shipper.shipper.wake import Wake


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--once", action="store_true", help="read every file to its end, wait for all acknowledgements, exit"
    )
    parser.add_argument(
        "--once-timeout",
        type=argument(parse_duration),
        default=float("inf"),
        metavar="TIME",
        help="give up --once after this time, such as 10m; acknowledgements may take shipper.shutdown_timeout longer",
    )
    add_shared(parser, run)


def run(options: argparse.Namespace) -> int:
    # Before reading the configuration: from now on, a SIGHUP requests a reload.
    with (
        closing(Wake()) as wake,
        Signals(wake.set, reloads=not options.once) as signals,
        closing(Notifier.from_environment()) as notifier,
    ):
        config = load_config(options)
        terminal = logs.set_up(config.logging, config.path.logs, to_stderr=options.to_stderr)
        log_findings(config)
        # Each open log file needs a descriptor, and the soft limit of a service is often only 1,024.
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        service = _service(notifier)
        reading = ConfigSource(
            read=lambda: _load_checked(options),
            is_requested=signals.hung_up,
            wake=wake.set_if_open,
            report=service.reloading,
        )
        environment = Environment(
            data_path(options, config),
            wake,
            once=options.once,
            reading=None if options.once else reading,
            service=service,
        )
        return running.run(
            config,
            environment,
            running.TimedEnding(lambda: signals.stopping, options.once_timeout, SystemClock()),
            terminal=terminal,
            observer=_observer(options, config),
        )


def _service(notifier: Notifier) -> Service:
    if notifier.watchdog is not None and sys.stderr is not None:
        # systemd aborts a hanging loop with SIGABRT: log the stack of each thread.
        faulthandler.enable()
    return Service(notifier, SystemClock())


def _observer(options: argparse.Namespace, config: ShipperConfig) -> running.MakeObserver:
    """Return the server of the agent's state. With --once only if configured, because such a run ends by itself."""
    http = config.http
    if not http.enabled and (options.once or not http.socket):
        return running.not_observed
    from log_shipper.shipper.monitor.composition import Monitor, MonitorSettings
    from log_shipper.shipper.monitor.configured import ConfigText

    configured = ConfigText(lambda: _exported(options), files(options))
    name = config.name or socket.gethostname()
    settings = MonitorSettings(
        http,
        name,
        data_path(options, config),
        SystemClock(),
        kind_of(config).records,
        configured.text,
        configured.read_again,
        once=options.once,
    )
    return partial(Monitor, settings)


def _exported(options: argparse.Namespace) -> str:
    from log_shipper.config.export import export  # rarely requested

    files, overrides = written(options)
    return export(files, ShipperConfig, overrides)


def _load_checked(options: argparse.Namespace) -> ShipperConfig:
    config = load_config(options)
    check_fields(config)
    return config
