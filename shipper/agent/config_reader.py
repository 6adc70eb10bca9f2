"""Reads the configuration on a thread of its own, while the agent continues.

Thousands of inputs take a second, and a file system that hangs takes forever. The thread only turns files into frozen
dataclasses; the loop's thread takes them and changes what runs.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.shipper.agent.memory import long_lived
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.included import ConfigInputs, Content
from log_shipper.shipper.options.model import ShipperConfig

logger = logging.getLogger(__name__)

Contents = dict[Path, Content]
Start = Callable[[Callable[[], None]], None]  # runs the work, on another thread or (in a test) immediately


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The contents of the files of `config.inputs`, and a configuration or the mistake in it; neither if nothing has
    changed."""

    contents: Contents
    config: ShipperConfig | None = None
    mistake: str = ""


def on_new_thread(work: Callable[[], None]) -> None:
    """Start a daemon thread: the agent does not wait for it when it stops, even if a file system hangs."""
    threading.Thread(target=work, name="configuration", daemon=True).start()


class ConfigReader:
    """Reads once at a time. `start` and `take` are called by the loop's thread, `wake` by the one that reads."""

    def __init__(self, read: Callable[[], ShipperConfig], start: Start, wake: Callable[[], None]) -> None:
        self._read = read
        self._run_elsewhere = start
        self._wake = wake
        self._results: SimpleQueue[ReadResult] = SimpleQueue()
        self.pending = False

    def start(self, rules: ConfigInputs, before: Contents | None) -> None:
        """Read the configuration elsewhere, if `before` is None or the contents of the files that `rules` name differ
        from it."""
        self.pending = True
        try:
            self._run_elsewhere(lambda: self._run(rules, before))
        except RuntimeError as error:  # the system cannot start another thread
            self._results.put(ReadResult(before or {}, mistake=f"it cannot be read now: {error}"))

    def take(self) -> ReadResult | None:
        """Return the result, once; None before there is one."""
        try:
            result = self._results.get_nowait()
        except Empty:
            return None
        self.pending = False
        return result

    def _run(self, rules: ConfigInputs, before: Contents | None) -> None:
        contents = before or {}
        try:
            # Before they are read: a change from now on is noticed the next time.
            contents = rules.contents()
            if contents == before:
                logger.debug("the files of config.inputs (%d) are as they were", len(contents))
            self._results.put(ReadResult(contents) if contents == before else self._new(rules, contents))
        except (ConfigError, StartError, OSError) as error:
            self._results.put(ReadResult(contents, mistake=str(error)))
        except Exception as error:  # a running agent must not end because of a configuration
            logger.exception("reading the configuration failed unexpectedly; the one before stays in effect")
            self._results.put(ReadResult(contents, mistake=f"it could not be read: {error!r}"))
        self._wake()

    def _new(self, rules: ConfigInputs, contents: Contents) -> ReadResult:
        with long_lived():
            config = self._read()
            if config.config_inputs != rules:
                # Other files are included now: their contents, too, are taken before they are read.
                contents = config.config_inputs.contents()
                config = self._read()
        return ReadResult(contents, config)
