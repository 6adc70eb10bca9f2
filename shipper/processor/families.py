"""Which class does the work of which configuration, for all processors. Loaded with the first input that has any."""

from collections.abc import Callable, Mapping
from typing import Any

from config.shipper.processors import adding, decoding, deriving, moving, parsing, times, values
from config.shipper.processors.dns import DnsConfig
from config.shipper.processors.host_metadata import AddHostMetadataConfig, AddProcessMetadataConfig
from config.shipper.processors.runtime_metadata import AddDockerMetadataConfig, AddKubernetesMetadataConfig
from shipper.processor.base import ProcessorContext, Table
from shipper.processor.changing.add import AddFields, AddId, AddLabels, AddLocale, AddTags
from shipper.processor.changing.drop import DropEvent, IncludeFields, drop_fields
from shipper.processor.changing.lists import append, extract_array
from shipper.processor.changing.move import MoveFields, copy_fields, rename
from shipper.processor.changing.rate_limit import RateLimit
from shipper.processor.changing.values import convert, replace, truncate_fields, urldecode
from shipper.processor.decoding.community_id import CommunityId
from shipper.processor.decoding.csv_fields import csv_fields
from shipper.processor.decoding.fields import DecodeDuration, base64_field, gzip_field
from shipper.processor.decoding.fingerprint import Fingerprint
from shipper.processor.decoding.json_values import DecodeJsonFields
from shipper.processor.decoding.mime_type import DetectMimeType
from shipper.processor.decoding.registered_domain import RegisteredDomain
from shipper.processor.metadata.docker import AddDockerMetadata
from shipper.processor.metadata.host import AddHostMetadata
from shipper.processor.metadata.kubernetes import AddKubernetesMetadata
from shipper.processor.metadata.process import AddProcessMetadata
from shipper.processor.parsing.dissect import Dissect
from shipper.processor.parsing.grok import Grok
from shipper.processor.parsing.redact import Redact
from shipper.processor.parsing.syslog import Syslog
from shipper.processor.parsing.timestamp import Timestamp
from shipper.processor.waiting import AsyncProcessor


def _dns(config: DnsConfig, context: ProcessorContext) -> AsyncProcessor:
    # Not at the top: dnspython takes longer to load than all the others.
    from shipper.processor.metadata import dns

    return dns.build(config, context)


TABLE: Table = {
    adding.AddFieldsConfig: lambda config, _: AddFields(config),
    adding.AddIdConfig: lambda config, _: AddId(config),
    adding.AddLabelsConfig: lambda config, _: AddLabels(config),
    adding.AddLocaleConfig: lambda config, context: AddLocale(config, context.clock),
    adding.AddTagsConfig: lambda config, _: AddTags(config),
    adding.AppendConfig: lambda config, _: append(config),
    moving.CopyFieldsConfig: lambda config, _: copy_fields(config),
    moving.DropEventConfig: lambda *_: DropEvent(),
    moving.DropFieldsConfig: lambda config, _: drop_fields(config),
    moving.IncludeFieldsConfig: lambda config, _: IncludeFields(config),
    moving.MoveFieldsConfig: lambda config, _: MoveFields(config),
    moving.RateLimitConfig: lambda config, context: RateLimit(config, context.clock),
    moving.RenameConfig: lambda config, _: rename(config),
    values.ConvertConfig: lambda config, _: convert(config),
    values.ExtractArrayConfig: lambda config, _: extract_array(config),
    values.ReplaceConfig: lambda config, _: replace(config),
    values.TruncateFieldsConfig: lambda config, _: truncate_fields(config),
    values.UrldecodeConfig: lambda config, _: urldecode(config),
    parsing.DissectConfig: lambda config, _: Dissect(config),
    parsing.GrokConfig: lambda config, _: Grok(config),
    parsing.RedactConfig: lambda config, _: Redact(config),
    times.SyslogProcessorConfig: lambda config, context: Syslog(config, context.clock),
    times.TimestampConfig: lambda config, context: Timestamp(config, context.clock),
    decoding.DecodeBase64FieldConfig: lambda config, _: base64_field(config),
    decoding.DecodeCsvFieldsConfig: lambda config, _: csv_fields(config),
    decoding.DecodeDurationConfig: lambda config, _: DecodeDuration(config),
    decoding.DecodeJsonFieldsConfig: lambda config, context: DecodeJsonFields(config, context.metrics),
    decoding.DecompressGzipFieldConfig: lambda config, _: gzip_field(config),
    deriving.FingerprintConfig: lambda config, _: Fingerprint(config),
    deriving.CommunityIdConfig: lambda config, _: CommunityId(config),
    deriving.RegisteredDomainConfig: lambda config, _: RegisteredDomain(config),
    deriving.DetectMimeTypeConfig: lambda config, _: DetectMimeType(config),
    AddHostMetadataConfig: AddHostMetadata,
    AddProcessMetadataConfig: AddProcessMetadata,
    AddDockerMetadataConfig: AddDockerMetadata,
    AddKubernetesMetadataConfig: AddKubernetesMetadata,
}
# Those that wait for answers.
ASYNC: Mapping[type, Callable[[Any, ProcessorContext], AsyncProcessor]] = {DnsConfig: _dns}
