"""`shipper dead-letter resend`: a --once run whose input is the dead letters of path.data.

It has its own registry and transactional id, because the agent may be running.
"""

import shutil
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

from log_shipper.config.text.units import readable_duration
from log_shipper.shipper.agent import running
from log_shipper.shipper.agent.app import App
from log_shipper.shipper.agent.data_directory import DataDirectory
from log_shipper.shipper.agent.environment import Environment
from log_shipper.shipper.agent.signals import Signals
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.inputs.dead_letter.options import DeadLetterInput
from log_shipper.shipper.letters.letter_box import MAX_BYTES, MAX_LETTERS, LetterBox, letters_in
from log_shipper.shipper.options.kafka import TransactionConfig
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.output.base import Output, Remote
from log_shipper.shipper.outputs.base import OutputContext, build_output
from log_shipper.shipper.outputs.kafka import kafka_of
from log_shipper.shipper.wake import Wake

REGISTRY = "dead_letter.registry"  # below path.data, until all letters are sent
SUFFIX = "-dead-letters"  # of the transactional id
INTERVAL = 0.02  # seconds after which an incomplete transaction is committed
# The broker's errors for missing permissions.
FORBIDDEN = {
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "TOPIC_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
}


class ResendRun:
    """Ends and observes the run: it is due after `timeout` seconds without a settled letter."""

    def __init__(self, signals: Signals, timeout: float) -> None:
        self.app: App | None = None
        self.output: Output | None = None
        self._signals = signals
        self._timeout = timeout
        self._clock = SystemClock()
        self._settled = 0
        self._since = self._clock.monotonic()

    @property
    def is_stopped(self) -> bool:
        """True after a signal."""
        return self._signals.stopping

    @property
    def settled(self) -> int:
        return self.app.metrics.letters_resent if self.app is not None else 0

    @property
    def refused(self) -> int:
        return min(self.app.metrics.events_dead_lettered, self.settled) if self.app is not None else 0

    @property
    def is_due(self) -> bool:
        if self.settled != self._settled:
            self._settled, self._since = self.settled, self._clock.monotonic()
        late = self._clock.monotonic() >= self._since + self._timeout
        return self.is_stopped or late or (self.app is None and self.is_forbidden)

    @property
    def reason(self) -> str:
        if self.is_stopped:
            return "stopped by a signal"
        if self.is_forbidden:
            return "the broker denies permission"
        return f"no response for {readable_duration(self._timeout)}"

    @property
    def is_forbidden(self) -> bool:
        return isinstance(self.output, Remote) and not FORBIDDEN.isdisjoint(self.output.errors.counts())

    def connect(self, config: ShipperConfig, context: OutputContext) -> Output:
        self.output = build_output(config, context)
        return self.output

    def opened(self) -> None: ...

    def observe(self, app: App) -> None:
        self.app, self._since = app, self._clock.monotonic()

    def stopping(self) -> None: ...

    def begin(self, _: ExitStack) -> running.Observer:
        return self


def resend(
    config: ShipperConfig, data: Path, ids: frozenset[str], timeout: float, *, topic: str | None, exactly_once: bool
) -> int:
    """Resend the letters, and print the result. Raises StartError, OSError."""
    box = LetterBox(data)
    chosen = for_resending(config, data, ids, topic, exactly_once=exactly_once)
    with closing(Wake()) as wake, Signals(wake.set) as signals:
        run = ResendRun(signals, timeout)
        environment = Environment(data, wake, once=True, connect=run.connect)
        try:
            code = running.run(chosen, environment, run, observer=run.begin)
        except OSError as error:
            words = f"{error.strerror}. Once this is solved, run the command again"
            raise OSError(error.errno, words, error.filename) from error
    if run.app is None:
        raise StartError(_not_started(chosen, run))
    if code != running.EXIT_UNFINISHED:
        shutil.rmtree(data / REGISTRY)
    _report(box, run, has_finished=code != running.EXIT_UNFINISHED)
    return code


def for_resending(
    config: ShipperConfig, data: Path, ids: frozenset[str], topic: str | None, *, exactly_once: bool
) -> ShipperConfig:
    """Return the configuration of the run. `exactly_once` uses transactions if the output is Kafka. Raises StartError
    for a topic with an output that has none.
    """
    letters = DeadLetterInput(id="dead-letter resend", path=str(data), ids=ids)
    mem = replace(config.queue.mem, events=2 * MAX_LETTERS, bytes=2 * MAX_BYTES)
    config = ShipperConfig(
        inputs=(letters,),
        output=config.output,
        queue=replace(config.queue, mem=mem, disk=None),
        name=config.name,
        registry=replace(config.registry, path=REGISTRY),
        dead_letter=replace(config.dead_letter, kafka=None),
        shutdown_timeout=config.shutdown_timeout,
    )
    output = kafka_of(config)
    if output is None:
        if topic is not None:
            raise StartError("--topic: only output.kafka has topics")
        return config
    # A letter is the only copy: if too large, it is rejected again instead of truncated.
    oversized = "dead_letter" if output.oversized == "cut" else output.oversized
    output = replace(output, delivery="at_least_once", oversized=oversized)
    if exactly_once:
        transaction = output.transaction or TransactionConfig()
        name = (transaction.id or f"shipper-{_agent_id(data)}") + SUFFIX
        transaction = replace(transaction, id=name, interval=INTERVAL)
        output = replace(output, delivery="exactly_once", transaction=transaction)
    if topic is not None:
        output = replace(output, topic=topic, topics=())
    return replace(config, output=replace(config.output, kafka=output))


def _agent_id(data: Path) -> str:
    directory = DataDirectory(data)
    with directory.translating_errors():
        return directory.agent_id


def _not_started(config: ShipperConfig, run: ResendRun) -> str:
    problem = (isinstance(run.output, Remote) and run.output.errors.problem) or run.reason
    output = kafka_of(config)
    if output is None or output.transaction is None or output.delivery == "at_least_once":
        return f"no letter was sent: {problem}"
    if run.is_forbidden:
        problem = (
            "the broker does not allow the transaction; grant the user Write and Describe on transactional id "
            f"{output.transaction.id}, and Create, Write, Read and Describe on topic {output.transaction.topic}"
        )
    way_out = "use --at-least-once; a kill then may duplicate letters in flight"
    return f"no letter was sent: {problem}. Or {way_out}"


def _report(box: LetterBox, run: ResendRun, *, has_finished: bool) -> None:
    print(f"{_counted(run.settled - run.refused)} resent")  # noqa: T201
    if run.refused:
        print(f"{_counted(run.refused)} rejected again: see 'dead-letter list'")  # noqa: T201
    if not has_finished and not run.is_stopped:
        print("not acknowledged in time: run it again when Kafka accepts records")  # noqa: T201
    done = box.done()
    if left := sum(stored.id not in done for path in box.rotated() for stored in letters_in(path)):
        print(f"{_counted(left)} left in {box.directory}")  # noqa: T201


def _counted(number: int) -> str:
    return f"{number} letter was" if number == 1 else f"{number} letters were"
