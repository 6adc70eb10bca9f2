"""`output.kafka`: records of topics, with at least one or exactly one delivery."""

from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.options.model import KafkaOutputConfig, ShipperConfig
from log_shipper.shipper.output.at_least_once import AtLeastOnce
from log_shipper.shipper.output.base import Output
from log_shipper.shipper.output.kafka import KafkaContext
from log_shipper.shipper.output.kafka_errors import ErrorReporter
from log_shipper.shipper.output.kafka_settings import make_producer, renewals
from log_shipper.shipper.output.topic_shares import TopicShares
from log_shipper.shipper.outputs import partitioning
from log_shipper.shipper.outputs.context import OutputContext
from log_shipper.shipper.outputs.kafka_records import record_parts, samples
from log_shipper.shipper.outputs.kinds import OutputKind, Steps
from log_shipper.shipper.processor.topics import TopicChooser


def _options(config: ShipperConfig) -> KafkaOutputConfig:
    assert config.output.kafka is not None
    return config.output.kafka


def _describe(config: ShipperConfig) -> str:
    kafka = _options(config)
    topics = [*(rule.topic for rule in kafka.topics), *([kafka.topic] if kafka.topic else [])]
    name = "topic" if len(topics) == 1 else "topics, the first that an event has:"
    return f"kafka, {name} {', '.join(topics)} at {', '.join(kafka.hosts)}"


def _open(config: ShipperConfig, context: OutputContext) -> Output:
    """Return the output. Raises StartError for settings that librdkafka refuses."""
    chosen, mem = _options(config), config.queue.mem
    kafka = kafka_context(chosen, context)
    if chosen.delivery == "exactly_once":
        from log_shipper.shipper.outputs.transactions import transactions  # which few have

        return transactions(config, kafka, context)
    has_one_topic = TopicChooser(chosen.topic, chosen.topics).fixed is not None
    shares = None if has_one_topic else TopicShares(mem.events, mem.bytes, context.clock)
    return AtLeastOnce(make_producer(chosen), kafka, context.publisher, shares)


def kafka_context(config: KafkaOutputConfig, context: OutputContext) -> KafkaContext:
    chooser = TopicChooser(config.topic, config.topics)
    records, topics = record_parts(config, chooser)
    errors = ErrorReporter(",".join(config.hosts), chooser.fixed or "", context.clock)
    backoff = Backoff(config.backoff.init, config.backoff.max)
    are_renewed = renewals(config, context.clock)
    partitions = partitioning.partitions(config, errors, context.clock)
    return KafkaContext(records, topics, errors, backoff, context.metrics, context.clock, are_renewed, partitions)


def _check(config: ShipperConfig, step: Steps) -> bool:
    from log_shipper.shipper.outputs.kafka_check import check_kafka  # of one command

    return check_kafka(_options(config), step)


KIND = OutputKind(_describe, _open, _check, lambda config: samples(_options(config)))
