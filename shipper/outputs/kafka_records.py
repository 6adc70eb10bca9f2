"""The records for Kafka of a batch, and the topics of its events."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from log_shipper.config.text.secrets import MASK, Secret
from log_shipper.shipper.event import Batch, Topics
from log_shipper.shipper.options.model import KafkaOutputConfig
from log_shipper.shipper.output.base import Records, Sample
from log_shipper.shipper.output.encode import Codec
from log_shipper.shipper.output.kafka_records import Beside, RecordMaker
from log_shipper.shipper.output.place_headers import PlaceHeaders
from log_shipper.shipper.outputs import partitioning
from log_shipper.shipper.outputs.codecs import kafka_codec
from log_shipper.shipper.processor.topics import TopicChooser


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


def samples(kafka: KafkaOutputConfig) -> Records:
    """Return what makes the records for a tap, without the values of configured headers."""
    headers = tuple(replace(header, value=Secret(MASK)) for header in kafka.headers)
    maker, topics_of = record_parts(replace(kafka, headers=headers), TopicChooser(kafka.topic, kafka.topics))

    def records(batch: Batch) -> Sequence[Sample]:
        topics = topics_of(batch)
        sent = [index for index in range(batch.events) if index not in topics.refused]
        made = maker.records(batch.part(sent)) if sent else []
        return [
            Sample(batch.source.path, topics.of(index), record["key"], record.get("headers", ()), record["value"])
            for index, record in zip(sent, made, strict=True)
        ]

    return records
