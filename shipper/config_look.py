"""Looks at the configuration on a thread of its own, while the agent reads on.

Thousands of inputs take a second, and a file system that hangs takes forever. The thread only turns files into frozen
dataclasses and hands them over; what runs is changed by the reading thread, when it takes them.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from config.shipper.included import ConfigInputs, Content
from config.shipper.model import ShipperConfig
from config.yaml.errors import ConfigError
from shipper.errors import StartError
from shipper.memory import long_lived

logger = logging.getLogger(__name__)

Contents = dict[Path, Content]
Start = Callable[[Callable[[], None]], None]  # runs the work, on another thread or (in a test) at once


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look gave: what the files of `config.inputs` hold, and a configuration, or why there is none; neither
    where nothing has changed."""

    contents: Contents
    config: ShipperConfig | None = None
    mistake: str = ""


def on_a_thread(work: Callable[[], None]) -> None:
    """A daemon: nothing waits for it when the agent stops, or what hangs here would keep it from stopping."""
    threading.Thread(target=work, name="configuration", daemon=True).start()


class Look:
    """One look at a time. `begin` and `take` are called by the reading thread; `wake` is called by the other one."""

    def __init__(self, read: Callable[[], ShipperConfig], start: Start, wake: Callable[[], None]) -> None:
        self._read = read
        self._start = start
        self._wake = wake
        self._seen: SimpleQueue[Seen] = SimpleQueue()
        self.under_way = False

    def begin(self, rules: ConfigInputs, before: Contents | None) -> None:
        """Look whether the files that `rules` name hold something else than `before`, and if so (always with None) read
        the configuration."""
        self.under_way = True
        try:
            self._start(lambda: self._run(rules, before))
        except RuntimeError as error:  # the system has no thread to give
            self._seen.put(Seen(before or {}, mistake=f"it cannot be read now: {error}"))

    def take(self) -> Seen | None:
        """What the look gave, once; None before it is done."""
        try:
            seen = self._seen.get_nowait()
        except Empty:
            return None
        self.under_way = False
        return seen

    def _run(self, rules: ConfigInputs, before: Contents | None) -> None:
        contents = before or {}
        try:
            # Before they are read: what changes from now on is seen next time.
            contents = rules.contents()
            self._seen.put(Seen(contents) if contents == before else self._new(rules, contents))
        except (ConfigError, StartError, OSError) as error:
            self._seen.put(Seen(contents, mistake=str(error)))
        except Exception as error:  # a running agent must not end by what was written meanwhile
            logger.exception("reading the configuration failed unexpectedly; the one before stays in effect")
            self._seen.put(Seen(contents, mistake=f"it could not be read: {error!r}"))
        self._wake()

    def _new(self, rules: ConfigInputs, contents: Contents) -> Seen:
        with long_lived():
            config = self._read()
            if config.config_inputs != rules:  # other files count now, and are looked at before they are read, too
                contents = config.config_inputs.contents()
                config = self._read()
        return Seen(contents, config)
