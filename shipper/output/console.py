"""Records on standard output, one a line: for replay tests and for looking."""

import sys
from typing import BinaryIO

import orjson

from shipper.event import Batch
from shipper.output.base import Deliveries
from shipper.output.encode import Encoder


class ConsoleOutput:
    """Delivered means written and flushed. A closed pipe raises BrokenPipeError: nobody reads any more."""

    in_flight = 0

    def __init__(
        self, encoder: Encoder, deliveries: Deliveries, *, pretty: bool = False, stream: BinaryIO | None = None
    ) -> None:
        self._encoder = encoder
        self._deliveries = deliveries
        self._pretty = pretty
        self._stream = stream or sys.stdout.buffer

    def publish(self, batch: Batch) -> bool:
        records = self._encoder.encode(batch)
        if self._pretty:
            records = [orjson.dumps(orjson.loads(record), option=orjson.OPT_INDENT_2).decode() for record in records]
        self._stream.write("".join(f"{record}\n" for record in records).encode())
        self._stream.flush()
        self._deliveries.delivered(batch, ())
        return True

    def poll(self, timeout: float) -> None:
        pass

    def close(self) -> None:
        pass
