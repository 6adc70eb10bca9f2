"""Makes the output that the configuration selects. Kafka's client is imported where it is the one."""

from pathlib import Path

from config.shipper.model import ConsoleOutputConfig, FileOutputConfig, KafkaOutputConfig, ShipperConfig
from shipper.clock import Clock
from shipper.codecs import make_codec
from shipper.output.base import Output
from shipper.output.console import ConsoleOutput
from shipper.output.file import FileOutput, output_file
from shipper.output_context import OutputContext
from shipper.pipeline.dead_letter import FILE, DeadLetterFile, DeadLetters
from shipper.record_limit import UNLIMITED


def build_output(config: ShipperConfig, context: OutputContext) -> Output:
    chosen = config.output.chosen
    if isinstance(chosen, ConsoleOutputConfig):
        return ConsoleOutput(make_codec(chosen.codec, UNLIMITED), context.publisher)
    if isinstance(chosen, FileOutputConfig):
        return FileOutput(output_file(chosen), make_codec(chosen.codec, UNLIMITED), context.publisher, context.clock)
    from shipper.kafka_outputs import kafka_output

    return kafka_output(config, chosen, context)


def dead_letters(config: ShipperConfig, data: Path, clock: Clock) -> DeadLetters:
    """Return where the events that the output refuses are kept; `data`: path.data."""
    file = DeadLetterFile(data / FILE, clock, rotate_at=config.dead_letter.rotate_every)
    output = config.output.chosen
    if config.dead_letter.kafka is None or not isinstance(output, KafkaOutputConfig):
        return file
    from shipper.output.kafka_dead_letter import KafkaDeadLetter
    from shipper.output.kafka_settings import make_producer

    return KafkaDeadLetter(config.dead_letter.kafka.topic, make_producer(output), file, clock)
