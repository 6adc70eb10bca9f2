"""Clients of librdkafka, made in one way by the shipper and the sink."""

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from kafka_client.security import NO_KERBEROS, AwsTokens

# What librdkafka logs at level debug. Its settings, which its context `conf` would log, are not among it.
_DEBUG: dict[str, Any] = {"log_level": 7, "debug": "broker,topic,metadata,security"}

# A part of sasl.oauthbearer.config.
_REMAINDER = re.compile(r"(beginning at: ).+", re.DOTALL)


def new_client(kind: Callable[..., Any], settings: dict[str, Any]) -> Any:
    """Return a producer, a consumer or an admin client. Raises KafkaException for settings that librdkafka refuses, and
    NoCredentials."""
    tokens = settings.get("oauth_cb")
    if isinstance(tokens, AwsTokens):
        tokens.fetch()  # librdkafka would only report, after ten seconds, that there is no token
    log = _log()
    if log.isEnabledFor(logging.DEBUG):
        settings = _DEBUG | settings
    try:
        return kind(settings, logger=log)
    except KafkaException as error:
        # Without the cause, whose text a traceback would have.
        raise KafkaException(_without_secrets(error.args[0], settings)) from None


def _without_secrets(error: KafkaError, settings: Mapping[str, Any]) -> KafkaError:
    """Return librdkafka's error about settings without the values that it quotes, where these are secrets."""
    from config.text.secrets import MASK, hidden, is_secret  # few settings are refused

    text = _REMAINDER.sub(rf"\1{MASK}", error.str())
    return KafkaError(
        error.code(), hidden(text, [str(value) for name, value in settings.items() if is_secret(name, "")])
    )


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
    """Return the logger of librdkafka's own lines. It is silent unless it was given a level: what matters of them comes
    by the callback for errors."""
    log = logging.getLogger("librdkafka")
    if log.level == logging.NOTSET:
        log.setLevel(logging.CRITICAL)
    return log
