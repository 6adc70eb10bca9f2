"""Records on standard output, one a line: for replay tests and for looking."""

import sys
from typing import BinaryIO

import orjson

from shipper.errors import StartError
from shipper.event import Batch
from shipper.output.base import Deliveries
from shipper.output.encode import Encoder


class ConsoleOutput:
    """Delivered means written and flushed. A closed pipe or a full disk raises OSError and ends the run: there is
    nobody to write to any more. Blocks while the reader of a pipe does not read."""

    in_flight = 0

    def __init__(
        self, encoder: Encoder, deliveries: Deliveries, *, pretty: bool = False, stream: BinaryIO | None = None
    ) -> None:
        if stream is None and sys.stdout is None:
            raise StartError("output.console: standard output is closed; redirect it to a file, or use output.file")
        self._encoder = encoder
        self._deliveries = deliveries
        self._pretty = pretty
        self._stream = stream or sys.stdout.buffer

    def publish(self, batch: Batch) -> bool:
        records = self._encoder.encode(batch)
        if self._pretty:
            records = [orjson.dumps(orjson.loads(record), option=orjson.OPT_INDENT_2).decode() for record in records]
        try:
            self._stream.write("".join(f"{record}\n" for record in records).encode())
            self._stream.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, "standard output") from error
        self._deliveries.delivered(batch, ())
        return True

    def poll(self, timeout: float) -> None:
        pass

    def close(self) -> None:
        pass
