"""Events -> the records that the Kafka client takes: the value with what travels beside it."""

from collections.abc import Callable, Sequence
from typing import Any

from shipper.event import Batch
from shipper.output.encode import Encoder

Keys = Callable[[Batch], Sequence[str]]


class RecordMaker:
    """Makes the same records each time it gets the same batch, so that what is sent again is what was sent before."""

    def __init__(self, encoder: Encoder, keys: Keys | None = None) -> None:
        """`keys` gives the key of each event; without it, all have the file id."""
        self._encoder = encoder
        self._keys = keys

    def records(self, batch: Batch) -> list[dict[str, Any]]:
        """Return the record of each event, in order, with the names of `Producer.produce`: value and key."""
        values = self._encoder.encode(batch)
        if self._keys is None:
            key = batch.source.file_id
            return [{"value": value, "key": key} for value in values]
        return [{"value": value, "key": key} for value, key in zip(values, self._keys(batch), strict=True)]
