"""Which class does the work of which configuration: what decodes and derives values."""

from config.shipper.processors import decoding, deriving
from shipper.processor.base import Table
from shipper.processor.decoding.community_id import CommunityId
from shipper.processor.decoding.csv_fields import csv_fields
from shipper.processor.decoding.fields import DecodeDuration, base64_field, gzip_field
from shipper.processor.decoding.fingerprint import Fingerprint
from shipper.processor.decoding.json_values import DecodeJsonFields
from shipper.processor.decoding.mime_type import DetectMimeType
from shipper.processor.decoding.registered_domain import RegisteredDomain

TABLE: Table = {
    decoding.DecodeBase64FieldConfig: lambda config, _: base64_field(config),
    decoding.DecodeCsvFieldsConfig: lambda config, _: csv_fields(config),
    decoding.DecodeDurationConfig: lambda config, _: DecodeDuration(config),
    decoding.DecodeJsonFieldsConfig: lambda config, around: DecodeJsonFields(config, around.metrics),
    decoding.DecompressGzipFieldConfig: lambda config, _: gzip_field(config),
    deriving.FingerprintConfig: lambda config, _: Fingerprint(config),
    deriving.CommunityIdConfig: lambda config, _: CommunityId(config),
    deriving.RegisteredDomainConfig: lambda config, _: RegisteredDomain(config),
    deriving.DetectMimeTypeConfig: lambda config, _: DetectMimeType(config),
}
