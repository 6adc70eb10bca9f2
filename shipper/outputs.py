"""Makes the output that the configuration selects."""

from config.shipper.model import ConsoleOutputConfig, FileOutputConfig, KafkaOutputConfig, ShipperConfig
from shipper.clock import Clock
from shipper.event import Topics
from shipper.inputs import UNLIMITED, record_limit
from shipper.metrics import Metrics
from shipper.output.base import Output
from shipper.output.console import ConsoleOutput
from shipper.output.encode import Encoder
from shipper.output.file import FileOutput, output_file
from shipper.output.kafka import Backoff, KafkaContext, KafkaOutput
from shipper.output.kafka_errors import ErrorReporter
from shipper.output.kafka_records import RecordMaker
from shipper.output.kafka_settings import make_producer
from shipper.pipeline.publisher import Publisher
from shipper.processor.keys import Keys
from shipper.processor.topics import TopicChooser


def build_output(config: ShipperConfig, publisher: Publisher, metrics: Metrics, clock: Clock) -> Output:
    chosen = config.output.chosen
    if isinstance(chosen, ConsoleOutputConfig):
        return ConsoleOutput(Encoder(UNLIMITED), publisher, pretty=chosen.pretty)
    if isinstance(chosen, FileOutputConfig):
        return FileOutput(output_file(chosen), Encoder(UNLIMITED), publisher, clock)
    return _kafka(chosen, Encoder(record_limit(chosen)), publisher, metrics, clock)


def _kafka(
    config: KafkaOutputConfig, encoder: Encoder, publisher: Publisher, metrics: Metrics, clock: Clock
) -> KafkaOutput:
    chooser = TopicChooser(config.topic, config.topics)
    fixed = Topics(chooser.fixed)
    errors = ErrorReporter(",".join(config.hosts), fixed.shared or "", clock)
    backoff = Backoff(config.backoff.init, config.backoff.max)
    topics = chooser if fixed.shared is None else lambda batch: fixed
    context = KafkaContext(topics, errors, backoff, metrics, clock)
    records = RecordMaker(encoder, None if config.key is None else Keys(config.key))
    return KafkaOutput(make_producer(config), records, publisher, context)
