"""The parser `syslog`: parses the header of syslog messages into log.syslog; the text becomes the message.

A message that is not syslog stays unchanged, with the reason in `error.message`.
"""

import logging
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.timezones import LOCAL, Timezone, zone_of
from log_shipper.shipper.event import Doc, Messages
from log_shipper.shipper.formats import syslog as syslog_format
from log_shipper.shipper.formats.syslog import SyslogError, SyslogFormat, SyslogMessage
from log_shipper.shipper.reader.base import MappedReader, ParserConfig, ParserContext, Reader

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyslogParserConfig(ParserConfig):
    """Parses the header of syslog messages (RFC 3164 and RFC 5424) into fields."""

    since: ClassVar = "0.3"
    name: ClassVar = "syslog"
    example: ClassVar = "syslog: {format: rfc3164} -> ['<13>Nov 21 09:30:00 web-1 app[7]: up'] -> [up]"
    format: SyslogFormat = field(default="auto", metadata={"doc": "The format; auto detects it for each message."})
    timezone: Timezone = field(
        default=LOCAL,
        metadata={"doc": "The time zone of times without one: a name, an offset such as +02:00, or Local."},
    )
    log_errors: bool = field(default=False, metadata={"doc": "Whether messages that are not valid syslog are logged."})
    add_error_key: bool = field(
        default=True,
        metadata={"doc": "Whether the reason is written to `error.message` of a message that is not valid syslog."},
    )

    def build(self, reader: Reader, context: ParserContext) -> Reader:
        return MappedReader(reader, _Syslog(self, context).parse)


class _Syslog:
    def __init__(self, config: SyslogParserConfig, context: ParserContext) -> None:
        self._config = config
        self._zone = zone_of(config.timezone)
        self._path = context.shared.get("log", {}).get("file", {}).get("path", "")
        self._clock = context.clock

    def parse(self, messages: Messages) -> Messages:
        format, zone, now, parse = self._config.format, self._zone, self._clock.time(), syslog_format.parse
        texts, docs = messages.texts, messages.documents()
        for index, text in enumerate(texts):
            if text:
                try:
                    message = parse(text, format, zone, now)
                except SyslogError as error:
                    self._failed(str(error), docs[index], text)
                else:
                    texts[index] = message.text
                    _put(message, docs[index])
        return messages

    def _failed(self, why: str, doc: Doc, text: str) -> None:
        if self._config.add_error_key:
            doc["error"] = {"message": f"Error parsing syslog message: {why}", "type": "syslog"}
        if self._config.log_errors:
            logger.warning("%s: not a syslog message, shipped unchanged: %s: %r", self._path, why, text[:100])


def _put(message: SyslogMessage, doc: Doc) -> None:
    log = doc.get("log")
    doc["log"] = {**(log if isinstance(log, dict) else {}), "syslog": message.syslog}
    if message.time is not None:
        doc["@timestamp"] = message.time
