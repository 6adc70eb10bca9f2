"""Reads the configuration again while the agent runs: after SIGHUP, and when a file of `config.inputs` changed.

Inputs that did not change continue undisturbed. A configuration with a mistake changes nothing. What cannot change in a
running agent (the output, the queue, the data path ...) stays as it was, and is named in the log.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from config.shipper.model import ShipperConfig
from config.yaml.schema import options
from shipper.clock import Clock
from shipper.config_look import Look, Seen, Start, on_a_thread
from shipper.errors import StartError
from shipper.inputs import InputFactory
from shipper.memory import long_lived
from shipper.source.reading.factory import Input

logger = logging.getLogger(__name__)

MISTAKES_LOGGED = 20  # thousands of inputs may have the same one
# Of these a change is taken at once; of all others at the next start.
TAKEN = {"inputs", "processors", "tags", "fields", "fields_under_root", "config_inputs"}


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """`read` gives the configuration as it is now, or raises ConfigError; `is_requested` is true once after each
    SIGHUP; `start` runs the work of reading, and `wake` is called at its end."""

    read: Callable[[], ShipperConfig]
    is_requested: Callable[[], bool]
    start: Start = on_a_thread
    wake: Callable[[], None] = lambda: None


ReplaceInputs = Callable[[list[Input]], None]


class Reloader:
    """Used by the reading thread only."""

    def __init__(
        self,
        config: ShipperConfig,
        reading: ConfigSource,
        inputs: InputFactory,
        replace_inputs: ReplaceInputs | None,
        clock: Clock,
    ) -> None:
        """`config` is what runs. Without `replace_inputs` (standard input is read) nothing can be changed."""
        self._config = config
        self._is_requested = reading.is_requested
        self._look = Look(reading.read if replace_inputs else lambda: config, reading.start, reading.wake)
        self._inputs = inputs
        self._now = inputs.build(config)
        self._replace_inputs = replace_inputs
        self._clock = clock
        self._contents = config.config_inputs.contents()
        self._due = clock.monotonic() + config.config_inputs.reload.period

    def step(self) -> None:
        """Begin a look at the configuration if it is time, and take what one has given."""
        if not self._look.under_way:
            self._begin()
        seen = self._look.take()
        if seen is not None:
            self._contents = seen.contents
            self._take(seen)

    def _begin(self) -> None:
        rules = self._config.config_inputs
        if self._is_requested():
            self._look.begin(rules, None)
        elif self._clock.monotonic() >= self._due:
            self._due = self._clock.monotonic() + rules.reload.period
            if rules.reloads:
                self._look.begin(rules, self._contents)

    def _take(self, seen: Seen) -> None:
        if seen.mistake:
            self._refuse(seen.mistake)
        elif seen.config is not None and self._replace_inputs is None:
            logger.warning("the configuration is not read again: standard input is read, which ends with the agent")
        elif seen.config is not None and self._replace_inputs is not None:
            try:
                with long_lived():
                    self._apply(seen.config, self._replace_inputs)
            except StartError as error:
                self._refuse(str(error))

    def _refuse(self, mistake: str) -> None:
        lines = mistake.splitlines()
        if len(lines) > MISTAKES_LOGGED:
            rest = f"... and {len(lines) - MISTAKES_LOGGED} more: 'shipper test config' names all of them"
            lines = [*lines[:MISTAKES_LOGGED], rest]
        logger.error("the configuration has a mistake; the one before stays in effect:\n%s", "\n".join(lines))

    def _apply(self, read: ShipperConfig, replace_inputs: ReplaceInputs) -> None:
        """Raises StartError: then nothing is changed."""
        config = self._with_fixed_options(read)
        inputs = self._build_inputs(config)
        self._log_changes(read, inputs)
        if config.config_inputs != self._config.config_inputs:
            self._due = self._clock.monotonic() + config.config_inputs.reload.period
        self._config = config
        if inputs != self._now:
            replace_inputs(inputs)
            self._now = inputs

    def _with_fixed_options(self, read: ShipperConfig) -> ShipperConfig:
        """What was read, but for what cannot change any more."""
        names = [option.name for option in options(ShipperConfig) if option.name not in TAKEN]
        return replace(read, **{name: getattr(self._config, name) for name in names})

    def _build_inputs(self, config: ShipperConfig) -> list[Input]:
        if any(each.enabled and each.type == "stdin" for each in config.inputs):
            raise StartError("an input of type stdin is taken at the next start only")
        return self._inputs.build(config)

    def _log_changes(self, read: ShipperConfig, inputs: list[Input]) -> None:
        for note in read.notes:
            if note not in self._config.notes:
                logger.info("%s", note)
        fixed = [option for option in options(ShipperConfig) if option.name not in TAKEN]
        late = [each.keys[0] for each in fixed if getattr(read, each.name) != getattr(self._config, each.name)]
        if late:
            logger.warning("changed in the configuration, and taken at the next start only: %s", ", ".join(late))
        if inputs != self._now:
            logger.info("reloaded: %s", difference(self._now, inputs))
        elif not late:
            logger.info("the configuration was read again: nothing changed")


def difference(before: Sequence[Input], after: Sequence[Input]) -> str:
    """In words, as in: 1 input added, 2 unchanged."""
    old, new = {each.id: each for each in before}, {each.id: each for each in after}
    both = old.keys() & new.keys()
    counts = {
        "added": len(new.keys() - old.keys()),
        "removed": len(old.keys() - new.keys()),
        "changed": sum(old[each] is not new[each] for each in both),
        "unchanged": sum(old[each] is new[each] for each in both),
    }
    parts = [(count, what) for what, count in counts.items() if count]
    first, *rest = parts or [(0, "left")]
    noun = f"{first[0]} input{'' if first[0] == 1 else 's'} {first[1]}"
    return ", ".join([noun, *(f"{count} {what}" for count, what in rest)])
