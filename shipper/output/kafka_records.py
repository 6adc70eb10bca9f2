"""Events -> the records that the Kafka client takes: the value with what travels beside it."""

from typing import Any

from shipper.event import Batch
from shipper.output.encode import Encoder


class RecordMaker:
    """Makes the same records each time it gets the same batch, so that what is sent again is what was sent before."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def records(self, batch: Batch) -> list[dict[str, Any]]:
        """Return the record of each event, in order, with the names of `Producer.produce`: value and key."""
        key = batch.source.file_id
        return [{"value": value, "key": key} for value in self._encoder.encode(batch)]
