"""Reads the configuration again while the agent runs: after SIGHUP, and when a file of `config.inputs` changed.

Inputs that are as they were go on undisturbed. A configuration with a mistake changes nothing. What cannot change in a
running agent (the output, the queue, the data path ...) stays as it was, and is told by its name.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from config.errors import ConfigError
from config.model import ShipperConfig
from config.schema import options
from shipper.clock import Clock
from shipper.errors import StartError
from shipper.inputs import Inputs
from shipper.source.crawler import Crawler
from shipper.source.input import Input

logger = logging.getLogger(__name__)

# Of these a change is taken at once; of all others at the next start.
TAKEN = {"inputs", "processors", "tags", "fields", "fields_under_root", "config_inputs"}


@dataclass(frozen=True, slots=True)
class Reading:
    """`read` gives the configuration as it is now, or raises ConfigError; `asked` is true once after each SIGHUP."""

    read: Callable[[], ShipperConfig]
    asked: Callable[[], bool]


class Reloader:
    """Used by the reading thread only."""

    def __init__(
        self, config: ShipperConfig, reading: Reading, inputs: Inputs, crawler: Crawler | None, clock: Clock
    ) -> None:
        """`config` is what runs. Without a `crawler` (standard input is read) nothing can be changed."""
        self._config = config
        self._reading = reading
        self._inputs = inputs
        self._now = inputs.of(config)
        self._crawler = crawler
        self._clock = clock
        self._seen = config.config_inputs.contents()
        self._due = clock.monotonic() + config.config_inputs.reload.period

    def step(self) -> None:
        asked = self._reading.asked()
        if asked or (self._clock.monotonic() >= self._due and self._is_changed()):
            self._reload()

    def _is_changed(self) -> bool:
        rules = self._config.config_inputs
        self._due = self._clock.monotonic() + rules.reload.period
        return rules.enabled and rules.reload.enabled and rules.contents() != self._seen

    def _reload(self) -> None:
        if self._crawler is None:
            logger.warning("the configuration is not read again: standard input is read, which ends with the agent")
            return
        # Before they are read: what changes from now on is seen next time.
        self._seen = self._config.config_inputs.contents()
        try:
            read = self._reading.read()
            config = self._kept(read)
            inputs = self._made(config)
        except (ConfigError, StartError) as error:
            logger.error("the configuration has a mistake; the one before goes on:\n%s", error)
            return
        self._tell(read, inputs)
        if config.config_inputs != self._config.config_inputs:
            self._seen = config.config_inputs.contents()
            self._due = self._clock.monotonic() + config.config_inputs.reload.period
        self._config = config
        if inputs != self._now:
            self._crawler.replace_inputs(inputs)
            self._now = inputs

    def _kept(self, read: ShipperConfig) -> ShipperConfig:
        """What was read, but for what cannot change any more."""
        names = [option.name for option in options(ShipperConfig) if option.name not in TAKEN]
        return replace(read, **{name: getattr(self._config, name) for name in names})

    def _made(self, config: ShipperConfig) -> list[Input]:
        if any(each.enabled and each.type == "stdin" for each in config.inputs):
            raise StartError("an input of type stdin is taken at the next start only")
        return self._inputs.of(config)

    def _tell(self, read: ShipperConfig, inputs: list[Input]) -> None:
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
    said = [(count, what) for what, count in counts.items() if count]
    first, *rest = said or [(0, "left")]
    noun = f"{first[0]} input{'' if first[0] == 1 else 's'} {first[1]}"
    return ", ".join([noun, *(f"{count} {what}" for count, what in rest)])
