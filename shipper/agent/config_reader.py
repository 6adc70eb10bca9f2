"""Reads the configuration on a separate thread while the agent continues.

Thousands of inputs take a second, and a hanging file system takes forever. The thread only turns files into frozen
dataclasses; the loop's thread applies them.
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
Start = Callable[[Callable[[], None]], None]  # runs a function on another thread, or immediately in tests


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The contents of the `config.inputs` files, and the configuration or its error; neither if nothing changed."""

    contents: Contents
    config: ShipperConfig | None = None
    mistake: str = ""


def on_new_thread(work: Callable[[], None]) -> None:
    """Start a daemon thread: a stop does not wait for it, even if a file system hangs."""
    threading.Thread(target=work, name="configuration", daemon=True).start()


class ConfigReader:
    """Reads one configuration at a time. The loop's thread calls `start` and `pop_result`; `wake` is called on the
    thread that reads the configuration."""

    def __init__(self, read: Callable[[], ShipperConfig], start: Start, wake: Callable[[], None]) -> None:
        self._read = read
        self._run_elsewhere = start
        self._wake = wake
        self._results: SimpleQueue[ReadResult] = SimpleQueue()
        self.pending = False

    def start(self, rules: ConfigInputs, before: Contents | None) -> None:
        """Read the configuration on another thread if `before` is None, or differs from the contents of the files in
        `rules`.
        """
        self.pending = True
        try:
            self._run_elsewhere(lambda: self._run(rules, before))
        except RuntimeError as error:  # the system cannot start another thread
            self._results.put(ReadResult(before or {}, mistake=f"cannot be read: {error}"))

    def pop_result(self) -> ReadResult | None:
        """Return the result once; None until there is one."""
        try:
            result = self._results.get_nowait()
        except Empty:
            return None
        self.pending = False
        return result

    def _run(self, rules: ConfigInputs, before: Contents | None) -> None:
        contents = before or {}
        try:
            # Before reading them: later changes are noticed by the next check.
            contents = rules.contents()
            if contents == before:
                logger.debug("the files of config.inputs (%d) are unchanged", len(contents))
            self._results.put(ReadResult(contents) if contents == before else self._new(rules, contents))
        except (ConfigError, StartError, OSError) as error:
            self._results.put(ReadResult(contents, mistake=str(error)))
        except Exception as error:  # a configuration must not end a running agent
            logger.exception("unexpected error while reading the configuration; the previous one stays in effect")
            self._results.put(ReadResult(contents, mistake=f"unexpected error: {error!r}"))
        self._wake()

    def _new(self, rules: ConfigInputs, contents: Contents) -> ReadResult:
        with long_lived():
            config = self._read()
            if config.config_inputs != rules:
                # The included files changed: take their contents before reading them, too.
                contents = config.config_inputs.contents()
                config = self._read()
        return ReadResult(contents, config)
