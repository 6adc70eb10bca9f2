"""Parses syslog messages: the header becomes log.syslog, and the text becomes the message.

A message that is not a syslog message stays as it is, with the reason in its `error.message`.
"""

import logging

from log_shipper.config.text.timezones import zone_of
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Doc, Messages
from log_shipper.shipper.formats import syslog as syslog_format
from log_shipper.shipper.formats.syslog import SyslogError, SyslogMessage
from log_shipper.shipper.options.parsers import SyslogParserConfig
from log_shipper.shipper.reader.base import Reader

logger = logging.getLogger(__name__)


class SyslogReader:
    """Parses each message of a run. `shared`: the members that all records of the file have."""

    def __init__(self, reader: Reader, config: SyslogParserConfig, shared: Doc, clock: Clock) -> None:
        self._reader = reader
        self._config = config
        self._zone = zone_of(config.timezone)
        self._path = shared.get("log", {}).get("file", {}).get("path", "")
        self._clock = clock

    @property
    def pending_since(self) -> float | None:
        return self._reader.pending_since

    def next(self) -> Messages | None:
        return self._parse(self._reader.next())

    def finish(self) -> Messages | None:
        return self._parse(self._reader.finish())

    def _parse(self, messages: Messages | None) -> Messages | None:
        if messages is None or not messages.texts:
            return messages
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
            logger.warning("%s: not a syslog message, shipped as it is: %s: %r", self._path, why, text[:100])


def _put(message: SyslogMessage, doc: Doc) -> None:
    log = doc.get("log")
    doc["log"] = {**(log if isinstance(log, dict) else {}), "syslog": message.syslog}
    if message.time is not None:
        doc["@timestamp"] = message.time
