"""Builds the configured codec."""

from log_shipper.shipper.options.codec import CodecConfig, JsonCodec
from log_shipper.shipper.output.encode import Codec, Encoder
from log_shipper.shipper.output.format_codec import FormatCodec
from log_shipper.shipper.output.place_headers import PlaceHeaders
from log_shipper.shipper.output.styled import StyledEncoder
from log_shipper.shipper.processor.formatting import Formatter

UNLIMITED = 2**31


def make_codec(config: CodecConfig, max_bytes: int = UNLIMITED, places: PlaceHeaders | None = None) -> Codec:
    """Return the codec. `max_bytes`: of a payload, or of a text and its headers (`places`)."""
    if config.format is not None:
        texts = Formatter(config.format.string).texts
        return FormatCodec(texts, max_bytes) if places is None else FormatCodec(texts, max_bytes, places.size)
    json = config.json or JsonCodec()
    encoder = Encoder(max_bytes)
    if not json.pretty and not json.escape_html:
        return encoder
    return StyledEncoder(encoder, max_bytes, pretty=json.pretty, escape_html=json.escape_html)
