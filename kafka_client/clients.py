"""Clients of librdkafka, made in one way by the shipper and the sink."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaException

from kafka_client.security import NO_KERBEROS, AwsTokens


def new_client(kind: Callable[..., Any], settings: dict[str, Any]) -> Any:
    """Return a producer, a consumer or an admin client. Raises KafkaException for settings that librdkafka refuses, and
    NoCredentials."""
    tokens = settings.get("oauth_cb")
    if isinstance(tokens, AwsTokens):
        tokens.fetch()  # librdkafka would only report, after ten seconds, that there is no token
    return kind(settings, logger=_log())


def refusal(kind: Callable[..., Any], settings: Mapping[str, Any]) -> str:
    """Return why librdkafka would refuse the settings, "" if it takes them. Nothing is connected to."""
    tried = {name: value for name, value in settings.items() if name not in ("bootstrap.servers", "oauth_cb")}
    if "OAUTHBEARER" in (tried.get("sasl.mechanism"), tried.get("sasl.mechanisms")):
        # With it, a client requests a token as soon as it is made.
        tried["security.protocol"] = str(tried["security.protocol"]).upper().removeprefix("SASL_")
    try:
        new_client(kind, tried)
    except KafkaException as error:
        reason: str = error.args[0].str()
        return f"{reason}; {NO_KERBEROS}" if "SASL mechanism GSSAPI" in reason else reason
    return ""


def unused(kind: Callable[..., Any], settings: Mapping[str, Any]) -> list[str]:
    """Return what librdkafka says about settings that such a client has no use for. Nothing is connected to. Raises
    KafkaException for settings that it refuses."""
    lines = _Lines()
    log = logging.Logger("librdkafka")  # of its own: what it says here is wanted
    log.addHandler(lines)
    kind(dict(settings), logger=log).poll(0)  # the lines are passed on within a poll
    return [text for text in lines.texts if "will be ignored" in text]


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage().rpartition("]: ")[2])


def client_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return those settings that every client has: where the brokers are, and how it connects to them."""
    wanted = ("bootstrap.servers", "client.id", "security.", "sasl.", "ssl.", "enable.ssl", "https.", "oauth_cb")
    return {name: value for name, value in settings.items() if name.startswith(wanted)}


def _log() -> logging.Logger:
    """Return a silent logger: what matters of librdkafka's own lines comes by its callback for errors."""
    log = logging.getLogger("librdkafka")
    log.setLevel(logging.CRITICAL)
    return log
