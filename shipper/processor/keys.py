"""The Kafka key of each event, by the option `key`."""

from collections.abc import Sequence

from log_shipper.shipper.event import Batch
from log_shipper.shipper.processor.formatting import Formatter


class Keys:
    """Used by the publishing thread."""

    def __init__(self, key: str) -> None:
        """`key` is a format string."""
        self._formatter = Formatter(key)

    def __call__(self, batch: Batch) -> Sequence[str]:
        """Return the key of each event: the file id where it has no text for one, so that a file's events without a
        key of their own stay in order."""
        keys, without = self._formatter.texts(batch)
        for index in without:
            keys[index] = batch.source.file_id
        return keys
