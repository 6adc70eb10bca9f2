"""Makes the output that the configuration selects."""

from config.shipper.model import ConsoleOutputConfig, FileOutputConfig, KafkaOutputConfig, MemQueue, ShipperConfig
from shipper.event import Topics
from shipper.inputs import UNLIMITED, record_limit
from shipper.output.base import Output
from shipper.output.console import ConsoleOutput
from shipper.output.encode import Encoder
from shipper.output.file import FileOutput, output_file
from shipper.output.kafka import Backoff, KafkaContext, KafkaOutput
from shipper.output.kafka_errors import ErrorReporter
from shipper.output.kafka_records import RecordMaker
from shipper.output.kafka_settings import certificate_files, make_producer
from shipper.output.topic_shares import TopicShares
from shipper.output_context import OutputContext
from shipper.processor.keys import Keys
from shipper.processor.topics import TopicChooser
from shipper.transactional_output import transactional_output


def build_output(config: ShipperConfig, context: OutputContext) -> Output:
    chosen = config.output.chosen
    if isinstance(chosen, ConsoleOutputConfig):
        return ConsoleOutput(Encoder(UNLIMITED), context.publisher, pretty=chosen.pretty)
    if isinstance(chosen, FileOutputConfig):
        return FileOutput(output_file(chosen), Encoder(UNLIMITED), context.publisher, context.clock)
    records, kafka = _records(chosen), _kafka_context(chosen, context, config.queue.mem)
    if chosen.delivery == "exactly_once":
        return transactional_output(config, records, kafka, context)
    return KafkaOutput(make_producer(chosen), records, context.publisher, kafka)


def _records(config: KafkaOutputConfig) -> RecordMaker:
    return RecordMaker(Encoder(record_limit(config)), None if config.key is None else Keys(config.key))


def _kafka_context(config: KafkaOutputConfig, context: OutputContext, mem: MemQueue) -> KafkaContext:
    chooser = TopicChooser(config.topic, config.topics)
    fixed = Topics(chooser.fixed)
    errors = ErrorReporter(",".join(config.hosts), fixed.shared or "", context.clock)
    backoff = Backoff(config.backoff.init, config.backoff.max)
    topics = chooser if fixed.shared is None else lambda batch: fixed
    shares = TopicShares(mem.events, mem.bytes, context.clock) if fixed.shared is None else None
    certificates = certificate_files(config, context.clock)
    return KafkaContext(topics, errors, backoff, context.metrics, context.clock, shares, certificates)
