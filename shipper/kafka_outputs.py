"""Makes the outputs for Kafka."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from log_shipper.config.shipper.model import KafkaOutputConfig, MemQueue, ShipperConfig
from log_shipper.shipper import partitioning
from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.codecs import kafka_codec
from log_shipper.shipper.event import Batch, Topics
from log_shipper.shipper.output.base import Output
from log_shipper.shipper.output.encode import Codec
from log_shipper.shipper.output.kafka import KafkaContext, KafkaOutput
from log_shipper.shipper.output.kafka_errors import ErrorReporter
from log_shipper.shipper.output.kafka_records import Beside, RecordMaker
from log_shipper.shipper.output.kafka_settings import make_producer, renewals
from log_shipper.shipper.output.place_headers import PlaceHeaders
from log_shipper.shipper.output.topic_shares import TopicShares
from log_shipper.shipper.output_context import OutputContext
from log_shipper.shipper.processor.topics import TopicChooser


def kafka_output(config: ShipperConfig, chosen: KafkaOutputConfig, context: OutputContext) -> Output:
    """Return the output. Raises StartError for settings that librdkafka refuses."""
    records, kafka = kafka_parts(chosen, context, config.queue.mem)
    if chosen.delivery == "at_least_once":
        return KafkaOutput(make_producer(chosen), records, context.publisher, kafka)
    from log_shipper.shipper.transactional_output import transactional_output  # transactions, which few have

    return transactional_output(config, records, kafka, context)


def kafka_parts(config: KafkaOutputConfig, context: OutputContext, mem: MemQueue) -> tuple[RecordMaker, KafkaContext]:
    """Return what makes the records, and what else an output needs."""
    chooser = TopicChooser(config.topic, config.topics)
    records, topics = record_parts(config, chooser)
    errors = ErrorReporter(",".join(config.hosts), chooser.fixed or "", context.clock)
    backoff = Backoff(config.backoff.init, config.backoff.max)
    shares = TopicShares(mem.events, mem.bytes, context.clock) if chooser.fixed is None else None
    are_renewed = renewals(config, context.clock)
    partitions = partitioning.partitions(config, errors, context.clock)
    kafka = KafkaContext(topics, errors, backoff, context.metrics, context.clock, shares, are_renewed, partitions)
    return records, kafka


def record_parts(config: KafkaOutputConfig, chooser: TopicChooser) -> tuple[RecordMaker, Callable[[Batch], Topics]]:
    """Return what makes the records, and what gives the topics of their events."""
    places = None if config.codec.format is None else PlaceHeaders()
    codec = kafka_codec(config, places)
    headers = [(header.key, header.value.reveal()) for header in config.headers]
    keys, hashes = partitioning.keys(config), partitioning.hashes(config)
    beside = Beside(keys, headers, places, config.timestamp == "event", hashes)
    return RecordMaker(codec, beside), sendable_topics(chooser, codec, partitioning.unhashable(config))


def sendable_topics(
    chooser: TopicChooser, codec: Codec, unhashable: Callable[[Batch], Mapping[int, str]]
) -> Callable[[Batch], Topics]:
    """Return a function that gives the topics of a batch; an event that has a topic, but no payload or no partition, is
    refused too."""
    fixed = Topics(chooser.fixed)

    def topics(batch: Batch) -> Topics:
        chosen = chooser(batch) if fixed.shared is None else fixed
        refused = {**unhashable(batch), **codec.refused(batch)}
        return replace(chosen, refused={**refused, **chosen.refused}) if refused else chosen

    return topics
