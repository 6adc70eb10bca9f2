"""`decode_cef`: parses messages in Common Event Format, also into ECS fields."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.config.text.checks import not_blank
from log_shipper.config.text.timezones import Timezone, zone_of
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Doc
from log_shipper.shipper.options.processors import IGNORE_FAILURE, IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.decoding.at_root import merge_at_root
from log_shipper.shipper.processor.decoding.cef_format import CefMessage, NotCefError, parse
from log_shipper.shipper.processor.decoding.cef_types import extensions
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import text_in
from log_shipper.shipper.processor.fields import Path, ProcessorError, path_of, store


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeCefConfig(ProcessorConfig):
    """Parses messages in Common Event Format (version 25). Text before `CEF:` is ignored. A value that cannot be parsed
    is an error of the event; all others are written."""

    name: ClassVar = "decode_cef"
    example: ClassVar = """
        decode_cef: {ecs: false} -> {message: 'CEF:0|acme|fw|1.0|100|blocked|5|src=10.0.0.1 spt=1232'}
          -> {message: 'CEF:0|acme|fw|1.0|100|blocked|5|src=10.0.0.1 spt=1232', cef: {version: "0", name: blocked,
          severity: "5", device: {vendor: acme, product: fw, version: "1.0", event_class_id: "100"},
          extensions: {sourceAddress: 10.0.0.1, sourcePort: 1232}}}
    """
    source: str = field(default="message", metadata={"key": "field", "check": not_blank, "doc": "The field to decode."})
    target_field: str = field(
        default="cef", metadata={"doc": "The object that the result is written to; the event itself when empty."}
    )
    ecs: bool = field(
        default=True,
        metadata={"doc": "Whether ECS fields are written too, including `message`."},
    )
    timezone: Timezone = field(default="UTC", metadata={"doc": "The time zone of times without one."})
    ignore_empty_values: bool = field(
        default=False, metadata={"doc": "Whether extensions with empty values are dropped."}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(default=False, metadata=IGNORE_FAILURE)
    id: str = field(default="", metadata={"doc": "A name for this processor, not used by the shipper."})

    def build(self, context: ProcessorContext) -> EventProcessor:
        return DecodeCef(self, context.clock)


# ECS fields by header part and by full extension name, as in Filebeat.
_HEADER_FIELDS = {
    "device.vendor": "observer.vendor",
    "device.product": "observer.product",
    "device.version": "observer.version",
    "device.event_class_id": "event.code",
    "name": "message",
}
_FIELDS = {
    "agentAddress": "agent.ip",
    "agentDnsDomain": "agent.name",
    "agentHostName": "agent.name",
    "agentId": "agent.id",
    "agentMacAddress": "agent.mac",
    "agentReceiptTime": "event.created",
    "agentType": "agent.type",
    "agentVersion": "agent.version",
    "applicationProtocol": "network.application",
    "bytesIn": "source.bytes",
    "bytesOut": "destination.bytes",
    "customerExternalID": "organization.id",
    "customerURI": "organization.name",
    "deviceAction": "event.action",
    "deviceAddress": "observer.ip",
    "deviceDirection": "network.direction",
    "deviceDnsDomain": "observer.hostname",
    "deviceHostName": "observer.hostname",
    "deviceMacAddress": "observer.mac",
    "devicePayloadId": "event.id",
    "deviceProcessId": "process.pid",
    "deviceProcessName": "process.name",
    "deviceReceiptTime": "@timestamp",
    "deviceTimeZone": "event.timezone",
    "endTime": "event.end",
    "eventId": "event.id",
    "eventOutcome": "event.outcome",
    "fileCreateTime": "file.created",
    "fileId": "file.inode",
    "fileModificationTime": "file.mtime",
    "filename": "file.name",
    "filePath": "file.path",
    "filePermission": "file.group",
    "fileSize": "file.size",
    "fileType": "file.type",
    "message": "message",
    "requestClientApplication": "user_agent.original",
    "requestContext": "http.request.referrer",
    "requestMethod": "http.request.method",
    "requestUrl": "url.original",
    "startTime": "event.start",
    "transportProtocol": "network.transport",
    "type": "event.kind",
} | {
    f"{end}{name}": f"{end}.{target}"
    for end in ("source", "destination")
    for name, target in {
        "Address": "ip",
        "DnsDomain": "domain",
        "GeoLatitude": "geo.location.lat",
        "GeoLongitude": "geo.location.lon",
        "HostName": "domain",
        "MacAddress": "mac",
        "Port": "port",
        "ProcessId": "process.pid",
        "ProcessName": "process.name",
        "ServiceName": "service.name",
        "TranslatedAddress": "nat.ip",
        "TranslatedPort": "nat.port",
        "UserId": "user.id",
        "UserName": "user.name",
        "UserPrivileges": "user.group.name",
    }.items()
}
_HEADER_TO_ECS = {name: path_of(field) for name, field in _HEADER_FIELDS.items()}
_TO_ECS = {name: path_of(field) for name, field in _FIELDS.items()}
_SEVERITY: Path = ("event", "severity")
_SHORT_NUMBER = re.compile(r"[0-9]{1,9}")
_SEVERITIES = {"low": 0, "medium": 4, "high": 7, "very-high": 9}


def _direction(value: Any) -> str:
    if value not in (0, 1):
        raise ValueError("must be 0 or 1")
    return ("inbound", "outbound")[value]


def _mac(value: str) -> str:
    return value.upper().replace(":", "-")


# Conversions to ECS values; None is not written. They raise ValueError.
_IN_ECS: dict[str, Callable[[Any], Any]] = {
    "agentMacAddress": _mac,
    "destinationMacAddress": _mac,
    "deviceAddress": lambda value: [value],
    "deviceDirection": _direction,
    "deviceMacAddress": _mac,
    "requestContext": lambda value: value if value.startswith("http") else None,
    "sourceMacAddress": _mac,
    "transportProtocol": str.lower,
}


class DecodeCef:
    touches = None  # the message determines the fields

    def __init__(self, config: DecodeCefConfig, clock: Clock) -> None:
        self._config = config
        self._source = path_of(config.source)
        self._target: Path = path_of(config.target_field) if config.target_field else ()
        self._extensions = extensions(zone_of(config.timezone), clock.time)

    def apply(self, event: Event) -> None:
        text = text_in(event, self._source, ignore_missing=self._config.ignore_missing)
        if text is None:
            return
        try:
            message = parse(text)
        except NotCefError as error:
            raise ProcessorError(f"field {self._config.source} cannot be decoded as CEF: {error}") from error
        values = self._converted(message)
        self._put(event, message, values)
        if self._config.ecs:
            _put_ecs(event, message, values)
        if message.wrong:
            raise ProcessorError("; ".join(message.wrong))

    def _converted(self, message: CefMessage) -> Doc:
        """Return the converted extensions by full name."""
        values: Doc = {}
        for key, text in message.extensions.items():
            name, convert = self._extensions.get(key.lower(), (key, str))
            if not text and self._config.ignore_empty_values:
                continue
            try:
                values[name] = convert(text)
            except ValueError as error:
                message.wrong.append(f"the value of {key} {error}: {text[:100]!r}")
        return values

    def _put(self, event: Event, message: CefMessage, values: Doc) -> None:
        fields: Doc = {"version": message.version}
        for name, part in message.header.items():
            store(fields, path_of(name), part)
        if values:
            fields["extensions"] = dict(values)
        if self._target:
            event.put(self._target, fields)
        else:
            message.wrong += merge_at_root(event, fields, overwrite=True)


def _put_ecs(event: Event, message: CefMessage, values: Doc) -> None:
    for name, part in message.header.items():
        if name in _HEADER_TO_ECS:
            event.put(_HEADER_TO_ECS[name], part)
    severity = message.header.get("severity", "").lower()
    number = _SEVERITIES.get(severity, int(severity) if _SHORT_NUMBER.fullmatch(severity) else None)
    if number is not None:
        event.put(_SEVERITY, number)
    for name, value in values.items():
        if name not in _TO_ECS:
            continue
        try:
            in_ecs = _IN_ECS[name](value) if name in _IN_ECS else value
            if in_ecs is not None:
                event.put(_TO_ECS[name], in_ecs)
        except (ValueError, ProcessorError) as error:
            message.wrong.append(f"{name} {error}")
