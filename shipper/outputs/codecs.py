"""Makes the codec that the configuration selects."""

from collections.abc import Callable, Sequence

from log_shipper.shipper.event import Batch
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.codec import CodecConfig, JsonCodec
from log_shipper.shipper.options.model import KafkaOutputConfig, ShipperConfig
from log_shipper.shipper.output.base import Records, Sample
from log_shipper.shipper.output.encode import Codec, Encoder, sendable
from log_shipper.shipper.output.format_codec import FormatCodec
from log_shipper.shipper.output.oversized import RefusingCodec, Room, Splitter
from log_shipper.shipper.output.place_headers import PlaceHeaders
from log_shipper.shipper.output.styled import StyledEncoder
from log_shipper.shipper.outputs.record_limit import UNLIMITED, record_limit
from log_shipper.shipper.pipeline.processing import leave
from log_shipper.shipper.processor.formatting import Formatter


def make_codec(config: CodecConfig, max_bytes: int, places: PlaceHeaders | None = None) -> Codec:
    """`max_bytes`: of a payload; of a text and its `places`, where those travel beside it."""
    if config.format is not None:
        texts = Formatter(config.format.string).texts
        return FormatCodec(texts, max_bytes) if places is None else FormatCodec(texts, max_bytes, places.size)
    json = config.json or JsonCodec()
    encoder = Encoder(max_bytes)
    if not json.pretty and not json.escape_html:
        return encoder
    return StyledEncoder(encoder, max_bytes, pretty=json.pretty, escape_html=json.escape_html)


def kafka_codec(config: KafkaOutputConfig, places: PlaceHeaders | None) -> Codec:
    """`places`: where they travel beside the payload."""
    if config.oversized == "cut":
        return make_codec(config.codec, record_limit(config), places)
    return RefusingCodec(_room(config, places))  # an event that cannot be split is a dead letter, too


def fit_for(config: ShipperConfig, metrics: Metrics) -> Callable[[Batch], None]:
    """Return what replaces events that are too large for the output, before they are queued."""
    kafka = config.output.to_kafka
    if kafka is None or kafka.oversized != "split":
        return leave
    return Splitter(_room(kafka, None if kafka.codec.format is None else PlaceHeaders()), metrics)


def _room(config: KafkaOutputConfig, places: PlaceHeaders | None) -> Room:
    whole = make_codec(config.codec, UNLIMITED)
    return Room(whole, record_limit(config)) if places is None else Room(whole, record_limit(config), places.size)


def records_of_codec(config: ShipperConfig) -> Records:
    """Return what makes the records of an output without topics and keys, for a tap."""
    codec = make_codec(config.output.chosen.codec, UNLIMITED)

    def records(batch: Batch) -> Sequence[Sample]:
        values = codec.encode(sendable(batch, codec.refused(batch)))
        return [Sample(batch.source.path, "", "", (), value) for value in values]

    return records
