"""add_fields, add_labels, add_tags, add_id, add_locale."""

import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

from config.shipper.processors.adding import (
    AddFieldsConfig,
    AddIdConfig,
    AddLabelsConfig,
    AddLocaleConfig,
    AddTagsConfig,
)
from shipper.clock import Clock
from shipper.json_fields import copied
from shipper.processor.events import Event, Events, all_of
from shipper.processor.fields import MISSING, Path, ProcessorError, dotted, path_of, root_of, roots

_TIMEZONE = ("event", "timezone")
_ID_BYTES = 15  # what Elasticsearch makes ids of


class AddFields:
    """Objects are merged with those that are there; what is not an object on both sides is replaced."""

    def __init__(self, config: AddFieldsConfig) -> None:
        self._path = path_of(config.target) if config.target else ()
        self._fields = config.fields
        self.touches = roots(*(path for path, _ in leaves(config.fields, self._path)))

    def apply(self, event: Event) -> None:
        _merge(event, self._path, self._fields)


class AddLabels:
    def __init__(self, config: AddLabelsConfig) -> None:
        self._labels = {".".join(path): value for path, value in leaves(config.labels, items=True)}
        self.touches = frozenset({"labels"})

    def apply(self, event: Event) -> None:
        _merge(event, ("labels",), self._labels)


def leaves(value: Any, above: Path = (), *, items: bool = False) -> list[tuple[Path, Any]]:
    """What is not an object, by path; an empty one is a leaf. With `items`, so is a list, and its items have
    numbers."""
    below: Any = value.items() if isinstance(value, dict) else ()
    if items and isinstance(value, list):
        below = [(str(number), each) for number, each in enumerate(value)]
    found = [leaf for name, each in below for leaf in leaves(each, (*above, name), items=items)]
    return found or ([(above, value)] if above else [])


def _merge(event: Event, path: Path, value: Any) -> None:
    if isinstance(value, dict) and (not path or isinstance(event.get(path), dict)):
        for name, each in value.items():
            _merge(event, (*path, name), each)
    else:
        event.put(path, copied(value))


class AddTags:
    def __init__(self, config: AddTagsConfig) -> None:
        self._path = path_of(config.target)
        self._tags = list(config.tags)
        self.touches = roots(self._path)

    def apply(self, event: Event) -> None:
        there = event.get(self._path)
        if there is MISSING:
            event.put(self._path, list(self._tags))
        elif isinstance(there, list):
            event.put(self._path, [*there, *self._tags])
        else:
            raise ProcessorError(f"{dotted(self._path)} is not a list of tags")


class AddId:
    """Not random: an event that is sent again after a crash has the id that it had, so that a store that
    keeps it under its id has it once. The event is identified by its file id and offset."""

    def __init__(self, config: AddIdConfig) -> None:
        self._path = path_of(config.target_field)

    def run(self, events: Events, indices: Sequence[int]) -> None:
        file = blake2b(f"{events.batch.source.file_id}:".encode(), digest_size=_ID_BYTES)
        offsets = events.messages.offsets
        for index in indices:
            event = file.copy()
            event.update(str(offsets[index]).encode())
            events.put(index, self._path, urlsafe_b64encode(event.digest()).decode())


class AddLocale:
    """AsyncProcessor for the time zone once a batch: it changes twice a year, while files are open."""

    def __init__(
        self, config: AddLocaleConfig, clock: Clock, local: Callable[[float], time.struct_time] = time.localtime
    ) -> None:
        self._abbreviated = config.format == "abbreviation"
        self._clock = clock
        self._local = local
        self._touches = frozenset({root_of(_TIMEZONE)})

    def run(self, events: Events, indices: Sequence[int]) -> None:
        now = self._local(self._clock.time())
        zone = now.tm_zone if self._abbreviated else _offset(now.tm_gmtoff)
        if all_of(events, indices) and not events.shadows(self._touches):
            events.share((self, zone), lambda shared: shared.put(0, _TIMEZONE, zone))
        else:
            for index in indices:
                events.put(index, _TIMEZONE, zone)


def _offset(seconds: int) -> str:
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return f"{'-' if seconds < 0 else '+'}{hours:02d}:{minutes:02d}"
