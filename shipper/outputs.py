"""Makes the output that the configuration selects."""

from config.shipper.model import ConsoleOutputConfig, FileOutputConfig, ShipperConfig
from shipper.codecs import make_codec
from shipper.inputs import UNLIMITED
from shipper.kafka_outputs import kafka_parts
from shipper.output.base import Output
from shipper.output.console import ConsoleOutput
from shipper.output.file import FileOutput, output_file
from shipper.output.kafka import KafkaOutput
from shipper.output.kafka_settings import make_producer
from shipper.output_context import OutputContext
from shipper.transactional_output import transactional_output


def build_output(config: ShipperConfig, context: OutputContext) -> Output:
    chosen = config.output.chosen
    if isinstance(chosen, ConsoleOutputConfig):
        return ConsoleOutput(make_codec(chosen.codec, UNLIMITED), context.publisher)
    if isinstance(chosen, FileOutputConfig):
        return FileOutput(output_file(chosen), make_codec(chosen.codec, UNLIMITED), context.publisher, context.clock)
    records, kafka = kafka_parts(chosen, context, config.queue.mem)
    if chosen.delivery == "exactly_once":
        return transactional_output(config, records, kafka, context)
    return KafkaOutput(make_producer(chosen), records, context.publisher, kafka)
