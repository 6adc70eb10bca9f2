"""Events as the configured output sends them, for `shipper tap`: by the same codec, topics and keys."""

from collections.abc import Sequence
from dataclasses import replace

from log_shipper.config.shipper.model import ConsoleOutputConfig, FileOutputConfig, KafkaOutputConfig, ShipperConfig
from log_shipper.config.text.secrets import MASK, Secret
from log_shipper.shipper.codecs import make_codec
from log_shipper.shipper.event import Batch
from log_shipper.shipper.output.encode import Codec, sendable
from log_shipper.shipper.record_limit import UNLIMITED
from log_shipper.shipper.tap import Records, Sample


def records_of(config: ShipperConfig) -> Records:
    chosen = config.output.chosen
    if isinstance(chosen, ConsoleOutputConfig | FileOutputConfig):
        return _of_codec(make_codec(chosen.codec, UNLIMITED))
    return _of_kafka(chosen)


def _of_codec(codec: Codec) -> Records:
    def records(batch: Batch) -> Sequence[Sample]:
        values = codec.encode(sendable(batch, codec.refused(batch)))
        return [Sample(batch.source.path, "", "", (), value) for value in values]

    return records


def _of_kafka(config: KafkaOutputConfig) -> Records:
    from log_shipper.shipper.kafka_outputs import record_parts
    from log_shipper.shipper.processor.topics import TopicChooser

    headers = tuple(replace(header, value=Secret(MASK)) for header in config.headers)
    maker, topics_of = record_parts(replace(config, headers=headers), TopicChooser(config.topic, config.topics))

    def records(batch: Batch) -> Sequence[Sample]:
        topics = topics_of(batch)
        sent = [index for index in range(batch.events) if index not in topics.refused]
        made = maker.records(batch.part(sent)) if sent else []
        return [
            Sample(batch.source.path, topics.of(index), record["key"], record.get("headers", ()), record["value"])
            for index, record in zip(sent, made, strict=True)
        ]

    return records
