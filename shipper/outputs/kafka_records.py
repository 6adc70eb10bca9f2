"""Builds the Kafka records of a batch, and finds the topics of its events."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from log_shipper.config.text.secrets import MASK, Secret
from log_shipper.shipper.event import Batch, Topics
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from log_shipper.shipper.output.base import Records, Sample
from log_shipper.shipper.output.encode import Codec
from log_shipper.shipper.output.kafka_records import RecordExtras, RecordMaker
from log_shipper.shipper.output.oversized import PayloadRoom, RefusingCodec, Splitter
from log_shipper.shipper.output.place_headers import PlaceHeaders
from log_shipper.shipper.outputs import partitioning
from log_shipper.shipper.outputs.codecs import make_codec
from log_shipper.shipper.processor.topics import TopicChooser


def record_parts(config: KafkaOutputConfig, chooser: TopicChooser) -> tuple[RecordMaker, Callable[[Batch], Topics]]:
    """Return the record maker, and the function that returns the topics of events."""
    places = None if config.codec.format is None else PlaceHeaders()
    codec = _codec(config, places)
    headers = [(header.key, header.value.reveal()) for header in config.headers]
    keys, hashes = partitioning.keys(config), partitioning.hashes(config)
    extras = RecordExtras(keys, headers, places, config.timestamp == "event", hashes)
    return RecordMaker(codec, extras), sendable_topics(chooser, codec, partitioning.unhashable(config))


def sendable_topics(
    chooser: TopicChooser, codec: Codec, unhashable: Callable[[Batch], Mapping[int, str]]
) -> Callable[[Batch], Topics]:
    """Return a function that returns the topics of a batch; an event with a topic but without payload or partition is
    refused too."""
    fixed = Topics(chooser.fixed)

    def topics(batch: Batch) -> Topics:
        chosen = chooser(batch) if fixed.shared is None else fixed
        refused = {**unhashable(batch), **codec.refused(batch)}
        return replace(chosen, refused={**refused, **chosen.refused}) if refused else chosen

    return topics


def samples(kafka: KafkaOutputConfig) -> Records:
    """Return a function that shows records for a tap, without the values of configured headers."""
    headers = tuple(replace(header, value=Secret(MASK)) for header in kafka.headers)
    maker, topics_of = record_parts(replace(kafka, headers=headers), TopicChooser(kafka.topic, kafka.topics))

    def records(batch: Batch) -> Sequence[Sample]:
        topics = topics_of(batch)
        sent = [index for index in range(batch.events) if index not in topics.refused]
        made = maker.records(batch.part(sent)) if sent else []
        return [
            Sample(batch.source.path, topics.topic_of(index), record["key"], record.get("headers", ()), record["value"])
            for index, record in zip(sent, made, strict=True)
        ]

    return records


def splitter(config: KafkaOutputConfig, metrics: Metrics) -> Splitter:
    """Return a function that replaces oversized events by their parts."""
    return Splitter(_room(config, None if config.codec.format is None else PlaceHeaders()), metrics)


def _codec(config: KafkaOutputConfig, places: PlaceHeaders | None) -> Codec:
    """Return the codec. `places`: for headers beside the payload."""
    if config.oversized == "cut":
        return make_codec(config.codec, config.record_limit, places)
    return RefusingCodec(_room(config, places))  # an event that cannot be split is a dead letter, too


def _room(config: KafkaOutputConfig, places: PlaceHeaders | None) -> PayloadRoom:
    whole = make_codec(config.codec)
    return (
        PayloadRoom(whole, config.record_limit)
        if places is None
        else PayloadRoom(whole, config.record_limit, places.size)
    )
