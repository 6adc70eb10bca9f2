"""Detects inputs that would read the shipper's own output: each record would become a line, each line a record.

Only names are compared, as the scanner's globs match them; links to such files are not detected.
"""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from log_shipper.config.text import globs
from log_shipper.config.text.checks import Finding
from log_shipper.config.text.patterns import searcher
from log_shipper.shipper.options.feeds import AnyInput, feeds_of, files_of
from log_shipper.shipper.options.inputs import ScannerConfig
from log_shipper.shipper.options.keystore import FILE as KEYSTORE

# Below path.data,
DATA_FILES = (
    *("dead_letter.ndjson", "dead_letter-*.ndjson", "dead_letter.resent"),
    *("agent_id", "first_start", KEYSTORE),
)
# and in the registry's directory, as documented in registry/store.py.
REGISTRY_FILES = (
    *("lock", "registry.db", "registry.db-wal", "registry.db-shm", "registry.tmp", "registry.new"),
    *(f"{name}.ndjson{aside}" for name in ("log", "checkpoint", "recent") for aside in ("", ".imported")),
)


@runtime_checkable
class ReadsTopics(Protocol):
    """An input that reads Kafka topics."""

    @property
    def hosts(self) -> tuple[str, ...]: ...

    def matches(self, topic: str) -> bool:
        """Return True if the input reads a topic of this name."""


_MAGIC = re.compile(r"[*?\[\\]")
_WRITES = "its own output; exclude the file, or move one of them"


def reads_own_output(inputs: tuple[AnyInput, ...], written: Mapping[str, str]) -> Iterator[Finding]:
    """Yield errors below `inputs`; `written` maps the shipper's output paths to their description."""
    for where, path in _matches(inputs, written):
        yield where, f"matches {path} of {written[path]}: the shipper would read {_WRITES}"


def reads_own_topic(inputs: tuple[AnyInput, ...], hosts: Collection[str], topics: Collection[str]) -> Iterator[Finding]:
    """Yield errors below `inputs`; `topics` are the shipper's output topics on these brokers. Only names are compared:
    brokers with another name and topics that depend on the event are not detected.
    """
    for index, feed in feeds_of(inputs):
        if not feed.enabled or not isinstance(feed, ReadsTopics) or set(hosts).isdisjoint(feed.hosts):
            continue
        for topic in topics:
            if feed.matches(topic):
                yield (
                    f"[{index}].topics",
                    (
                        f"{topic} is the shipper's own output, and every record would be sent again; exclude the "
                        "topic, or send to another one"
                    ),
                )


def reads_own_log(inputs: tuple[AnyInput, ...], files: Sequence[str]) -> Iterator[Finding]:
    """Yield warnings below `inputs`. The shipper's own log may be read: it does not grow with each line shipped."""
    for where, path in _matches(inputs, files):
        yield where, f"matches {path}, the shipper's own log; exclude it unless you want to ship it"


def _matches(inputs: tuple[AnyInput, ...], written: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the place of each pattern that matches one of these paths, with the path."""
    absolute = {path: os.path.abspath(path) for path in written}
    for index, input_config in files_of(inputs):
        if not input_config.enabled:
            continue
        for position, pattern in enumerate(input_config.paths):
            matches = _matcher(pattern, recursive=input_config.prospector.scanner.recursive_glob)
            for path in written:
                if matches(absolute[path]) and _takes(input_config.prospector.scanner, absolute[path]):
                    yield f"[{index}].paths[{position}]", path
                    break


def _takes(scanner: ScannerConfig, path: str) -> bool:
    included = not scanner.include_files or searcher(scanner.include_files)(path)
    return included and not searcher(scanner.exclude_files)(path)


def _matcher(pattern: str, *, recursive: bool) -> Callable[[str], bool]:
    """Return a predicate for the paths that the scanner would find by the pattern."""
    absolute = os.path.abspath(pattern)
    beginning = _MAGIC.split(absolute, maxsplit=1)[0]
    if beginning == absolute:
        return absolute.__eq__

    def finds(path: str) -> bool:
        # The literal prefix rules out nearly every path: there may be thousands of inputs with several patterns each.
        if not path.startswith(beginning):
            return False
        try:
            return globs.matches(globs.parse(pattern, recursive=recursive), path)
        except ValueError:  # such a pattern matches nothing, which the scanner reports
            return False

    return finds
