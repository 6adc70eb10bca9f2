"""add_fields, add_labels, add_tags, add_id, add_locale, add_formatted_index, now."""

import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.formats.record import timestamp
from log_shipper.shipper.options.processors.adding import (
    AddFieldsConfig,
    AddFormattedIndexConfig,
    AddIdConfig,
    AddLabelsConfig,
    AddLocaleConfig,
    AddTagsConfig,
    NowConfig,
)
from log_shipper.shipper.processor.events import Event, Events, all_of
from log_shipper.shipper.processor.fields import MISSING, Path, ProcessorError, dotted, path_of, root_of, roots
from log_shipper.shipper.processor.formatting import Formatter, NoText

_TIMEZONE = ("event", "timezone")
_RAW_INDEX = ("@metadata", "raw_index")
_ID_BYTES = 15  # as many as in Elasticsearch's own ids


class AddFields:
    """Objects are merged with existing ones; a value that is not an object on both sides is replaced."""

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
    """Return the values that are not objects, by path; an empty object counts as a value. With `items`, lists are
    treated like objects whose names are the indices."""
    below: Any = value.items() if isinstance(value, dict) else ()
    if items and isinstance(value, list):
        below = [(str(number), item) for number, item in enumerate(value)]
    inner = [leaf for name, member in below for leaf in leaves(member, (*above, name), items=items)]
    return inner or ([(above, value)] if above else [])


def _merge(event: Event, path: Path, value: Any) -> None:
    if isinstance(value, dict) and (not path or isinstance(event.get(path), dict)):
        for name, member in value.items():
            _merge(event, (*path, name), member)
    else:
        event.put(path, copied(value))


class AddTags:
    def __init__(self, config: AddTagsConfig) -> None:
        self._path = path_of(config.target)
        self._tags = list(config.tags)
        self.touches = roots(self._path)

    def apply(self, event: Event) -> None:
        existing = event.get(self._path)
        if existing is MISSING:
            event.put(self._path, list(self._tags))
        elif isinstance(existing, list):
            event.put(self._path, [*existing, *self._tags])
        else:
            raise ProcessorError(f"{dotted(self._path)} is not a list of tags")


class AddId:
    """The id is derived from file id and offset, not random: an event that is sent again after a crash has the same id,
    so that a store that keeps it under this id has it once."""

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
    """Reads the time zone once for each batch: it changes twice a year, while files are open."""

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


class AddFormattedIndex:
    touches = roots(_RAW_INDEX)

    def __init__(self, config: AddFormattedIndexConfig) -> None:
        self._formatter = Formatter(config.index)

    def apply(self, event: Event) -> None:
        try:
            event.put(_RAW_INDEX, self._formatter.text(event.events, event.index))
        except NoText as error:
            raise ProcessorError(str(error)) from error


class Now:
    touches = None  # never shared by the events of a file: the time differs

    def __init__(self, config: NowConfig, clock: Clock) -> None:
        self._path = path_of(config.target)
        self._clock = clock

    def apply(self, event: Event) -> None:
        event.put(self._path, timestamp(self._clock.time()))


def _offset(seconds: int) -> str:
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return f"{'-' if seconds < 0 else '+'}{hours:02d}:{minutes:02d}"
