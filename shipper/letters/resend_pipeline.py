"""Makes what sends dead letters again through the output that is configured."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from log_shipper.shipper.agent.data_directory import DataDirectory
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.letters.letter_box import Resending
from log_shipper.shipper.letters.output import MOST_BYTES, MOST_LETTERS, letters_output
from log_shipper.shipper.letters.resend import LettersInFlight, ResendPipeline, noted
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.output.base import Output
from log_shipper.shipper.outputs.codecs import fit_for
from log_shipper.shipper.outputs.context import OutputContext
from log_shipper.shipper.outputs.kinds import build_output
from log_shipper.shipper.pipeline.publisher import Publisher
from log_shipper.shipper.pipeline.queue import MemoryQueue
from log_shipper.shipper.source.reading.staging import Staging


@contextmanager
def resend_pipeline(
    config: ShipperConfig, data: Path, resending: Resending, timeout: float, *, exactly_once: bool
) -> Iterator[ResendPipeline]:
    """`exactly_once`: in transactions, if the output is Kafka; what a run that was killed had committed is noted then.
    Raises StartError."""
    clock, metrics = SystemClock(), Metrics()
    queue = MemoryQueue(MOST_LETTERS, MOST_BYTES)
    letters = LettersInFlight(resending, clock)
    publisher = Publisher(queue, letters, metrics, clock)
    directory = DataDirectory(data)
    with directory.translating_errors():
        agent = directory.agent(config.name)
    context = OutputContext(publisher, metrics, clock, agent, Staging())
    output: Output
    if exactly_once and config.output.to_kafka is not None:
        kafka = letters_output(config, context, letters)
        committed = kafka.take(timeout, clock)
        if resending.was_interrupted:
            resending.note_sent(noted(committed))
        output = kafka.output
    else:
        output = build_output(config, context)
    with closing(output):
        yield ResendPipeline(letters, queue, publisher, output, clock, fit_for(config, metrics))


def for_resending(config: ShipperConfig, topic: str | None) -> ShipperConfig:
    """Return the configuration with the topic, if one is given, and without the agent's transactions. Raises StartError
    for an output without topics."""
    output = config.output.to_kafka
    if output is None:
        if topic is not None:
            raise StartError("--topic: there are topics with output.kafka only")
        return config
    # A letter that is too large is refused again, not cut: it is the only copy.
    oversized = "dead_letter" if output.oversized == "cut" else output.oversized
    output = replace(output, delivery="at_least_once", oversized=oversized)
    if topic is not None:
        output = replace(output, topic=topic, topics=())
    return replace(config, output=replace(config.output, kafka=output))
