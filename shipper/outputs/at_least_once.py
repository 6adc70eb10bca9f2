"""Builds the output of `delivery: at_least_once`, and the context of both Kafka outputs."""

from log_shipper.runtime.kafka.renewal import renewals
from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from log_shipper.shipper.options.queues import MemQueue
from log_shipper.shipper.output.at_least_once import AtLeastOnce
from log_shipper.shipper.output.kafka import KafkaContext, Probe
from log_shipper.shipper.output.kafka_errors import ErrorReporter
from log_shipper.shipper.output.kafka_settings import clients, latest, make_producer
from log_shipper.shipper.output.topic_shares import TopicShares
from log_shipper.shipper.outputs import partitioning
from log_shipper.shipper.outputs.base import OutputContext
from log_shipper.shipper.outputs.kafka_records import record_parts
from log_shipper.shipper.processor.topics import TopicChooser


def at_least_once(config: KafkaOutputConfig, mem: MemQueue, context: OutputContext) -> AtLeastOnce:
    """Return the output. Raises StartError for settings that librdkafka rejects."""
    kafka = kafka_context(config, context)
    has_one_topic = TopicChooser(config.topic, config.topics).fixed is not None
    shares = None if has_one_topic else TopicShares(mem.events, mem.bytes, context.clock)
    return AtLeastOnce(make_producer(config), kafka, context.deliveries, shares)


def kafka_context(config: KafkaOutputConfig, context: OutputContext) -> KafkaContext:
    chooser = TopicChooser(config.topic, config.topics)
    records, topics = record_parts(config, chooser)
    errors = ErrorReporter(",".join(config.hosts), chooser.fixed or "", context.clock)
    backoff = Backoff(config.backoff.init, config.backoff.max)
    are_renewed = renewals(config, context.clock, "output.kafka")
    partitions = partitioning.partitions(config, errors, context.clock)
    probe = Probe(clients(latest(config)).admin)
    return KafkaContext(
        records, topics, errors, backoff, context.metrics, context.clock, probe, are_renewed, partitions
    )
