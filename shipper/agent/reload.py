"""Reloads the configuration of a running agent: after SIGHUP, and when a file of `config.inputs` changes.

Unchanged inputs continue undisturbed. An invalid configuration changes nothing. Options that cannot change in a running
agent (the output, the queue, the data path ...) keep their values, and are named in the log.
"""

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

from log_shipper.config.yaml.schema import options
from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.agent.config_reader import ConfigReader, ReadResult, Start, on_new_thread
from log_shipper.shipper.agent.inputs import AnyInput, InputFactory
from log_shipper.shipper.agent.memory import long_lived
from log_shipper.shipper.autodiscover.base import DiscoveredInput
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.model import ShipperConfig

logger = logging.getLogger(__name__)

MISTAKES_LOGGED = 20  # thousands of inputs may share one
# Options whose changes apply at once; all others need a restart.
RELOADED = {"inputs", "processors", "tags", "fields", "fields_under_root", "config_inputs"}


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """How to reload. `read` returns the current configuration or raises ConfigError; `is_requested` is true once after
    each SIGHUP; `start` starts reading, and `wake` is called at its end. `report` gets True when a requested reload
    begins, and False when its result was applied or refused.
    """

    read: Callable[[], ShipperConfig]
    is_requested: Callable[[], bool]
    start: Start = on_new_thread
    wake: Callable[[], None] = lambda: None
    report: Callable[[bool], None] = lambda pending: None


@dataclass(slots=True)
class Reloads:
    """The number of reloads since the start, by result."""

    ok: int = 0
    failed: int = 0
    is_refused: bool = False  # the last reload


ReplaceInputs = Callable[[list[AnyInput]], None]


class Reloader:
    """Reloads the configuration; used only by the reading thread."""

    def __init__(
        self,
        config: ShipperConfig,
        reading: ConfigSource,
        inputs: InputFactory,
        replace_inputs: ReplaceInputs | None,
        clock: Clock,
        discovered: Sequence[DiscoveredInput] = (),
    ) -> None:
        """`config` is in effect, with the `discovered` inputs. Without `replace_inputs` (standard input), nothing can
        change.
        """
        self._config = config
        self._is_requested = reading.is_requested
        self._report = reading.report
        self._is_reported = False
        self._reader = ConfigReader(reading.read if replace_inputs else lambda: config, reading.start, reading.wake)
        self._inputs = inputs
        self._discovered: Sequence[DiscoveredInput] = discovered
        self._running = inputs.build(config, discovered)
        self._replace_inputs = replace_inputs
        self._clock = clock
        self._contents = config.config_inputs.contents()
        self._due = clock.monotonic() + config.config_inputs.reload.period
        self.reloads = Reloads()

    @property
    def config(self) -> ShipperConfig:
        """Return the configuration in effect."""
        return self._config

    @property
    def running(self) -> list[AnyInput]:
        """Return the inputs in effect. Callable from any thread."""
        return self._running

    def step(self) -> None:
        """Start a check of the configuration if due, and apply the result of a finished one."""
        if not self._reader.pending:
            self._start_check()
        result = self._reader.pop_result()
        if result is not None:
            self._contents = result.contents
            self._take(result)
            if self._is_reported:
                self._is_reported = False
                self._report(False)

    def discover(self, discovered: Sequence[DiscoveredInput]) -> Mapping[str, str]:
        """Read these inputs in addition to the configured ones. An identical object continues undisturbed. Return why
        inputs are not read, by id.
        """
        if self._replace_inputs is None:
            return {}
        inputs = self._inputs.build(self._config, discovered)
        self._replace_inputs(inputs)
        self._discovered, self._running = discovered, inputs
        return self._inputs.refused

    def _start_check(self) -> None:
        rules = self._config.config_inputs
        if self._is_requested():
            self._is_reported = True
            self._report(True)
            self._reader.start(rules, None)
        elif self._clock.monotonic() >= self._due:
            self._due = self._clock.monotonic() + rules.reload.period
            if rules.reloads:
                self._reader.start(rules, self._contents)

    def _take(self, result: ReadResult) -> None:
        if result.mistake:
            self._refuse(result.mistake)
        elif result.config is not None and self._replace_inputs is None:
            logger.warning(
                "the configuration is not reloaded: options of stdin cannot change while it is read",
                extra=EACH,
            )
        elif result.config is not None and self._replace_inputs is not None:
            try:
                with long_lived():
                    self._apply(result.config, self._replace_inputs)
            except StartError as error:
                self._refuse(str(error))

    def _refuse(self, mistake: str) -> None:
        self.reloads.failed += 1
        self.reloads.is_refused = True
        lines = mistake.splitlines()
        if len(lines) > MISTAKES_LOGGED:
            rest = f"... and {len(lines) - MISTAKES_LOGGED} more: run 'shipper test config'"
            lines = [*lines[:MISTAKES_LOGGED], rest]
        logger.error("invalid configuration; the previous one stays in effect:\n%s", "\n".join(lines), extra=EACH)

    def _apply(self, read: ShipperConfig, replace_inputs: ReplaceInputs) -> None:
        """Apply a configuration. Raises StartError without changing anything."""
        config = self._with_fixed_options(read)
        inputs = self._build_inputs(config)
        if inputs != self._running:
            replace_inputs(inputs)
        self._log_changes(read, inputs)
        if config.config_inputs != self._config.config_inputs:
            self._due = self._clock.monotonic() + config.config_inputs.reload.period
        self._config, self._running = config, inputs
        self.reloads.ok += 1
        self.reloads.is_refused = False

    def _with_fixed_options(self, read: ShipperConfig) -> ShipperConfig:
        """Return the new configuration, but with the current values of options that cannot change in a running
        agent."""
        names = [option.name for option in options(ShipperConfig) if option.name not in RELOADED]
        return replace(read, **{name: getattr(self._config, name) for name in names})

    def _build_inputs(self, config: ShipperConfig) -> list[AnyInput]:
        if any(candidate.enabled and candidate.type == "stdin" for candidate in config.inputs):
            raise StartError("a stdin input can only be added with a restart")
        return self._inputs.build(config, self._discovered)

    def _log_changes(self, read: ShipperConfig, inputs: list[AnyInput]) -> None:
        log_findings(read, self._config)
        late = changed_options(self._config, read, RELOADED)
        if late:
            logger.warning("changes that need a restart: %s", ", ".join(late), extra=EACH)
        if inputs != self._running:
            logger.info("reloaded: %s", difference(self._running, inputs), extra=EACH)
        elif not late:
            logger.info("reloaded: nothing changed", extra=EACH)


def changed_options(before: Any, after: Any, without: Container[str] = ()) -> list[str]:
    """Return the dotted names of options that differ between two values of a model, except the fields `without`. A
    list, or a section present in only one of them, is one name.
    """
    model: Any = type(before)
    names: list[str] = []
    for option in options(model):
        old, new = getattr(before, option.name), getattr(after, option.name)
        if old == new or option.name in without:
            continue
        below = changed_options(old, new) if is_dataclass(old) and type(old) is type(new) else []
        names += [f"{option.keys[0]}.{name}" for name in below] or [option.keys[0]]
    return names


def log_findings(config: ShipperConfig, before: ShipperConfig | None = None) -> None:
    """Log the warnings and notes about a configuration, except those that the previous one had, too."""
    for level, findings, known in (
        (logging.WARNING, config.warnings, before.warnings if before else ()),
        (logging.INFO, config.notes, before.notes if before else ()),
    ):
        for finding in findings:
            if finding not in known:
                logger.log(level, "%s", finding, extra=EACH)


def difference(before: Sequence[AnyInput], after: Sequence[AnyInput]) -> str:
    """Return the difference, as in: 1 input added, 2 unchanged."""
    old, new = {item.id: item for item in before}, {item.id: item for item in after}
    both = old.keys() & new.keys()
    counts = {
        "added": len(new.keys() - old.keys()),
        "removed": len(old.keys() - new.keys()),
        "changed": sum(old[input_id] is not new[input_id] for input_id in both),
        "unchanged": sum(old[input_id] is new[input_id] for input_id in both),
    }
    parts = [(count, what) for what, count in counts.items() if count]
    first, *rest = parts or [(0, "left")]
    noun = f"{first[0]} input{'' if first[0] == 1 else 's'} {first[1]}"
    return ", ".join([noun, *(f"{count} {what}" for count, what in rest)])
