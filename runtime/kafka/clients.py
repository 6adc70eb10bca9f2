"""Creates clients of librdkafka for the shipper and the sink."""

import logging
import os
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from log_shipper.config.text.secrets import MASK, hidden, is_secret, without_passwords
from log_shipper.config.yaml.files import check_plain
from log_shipper.runtime.kafka.security import NO_KERBEROS, AwsTokens

# librdkafka's debug contexts, except `conf`, which would log its settings.
_DEBUG: dict[str, Any] = {"log_level": 7, "debug": "broker,topic,metadata,security"}

MAX_NUMBER = 2**31 - 1  # of a setting

# A part of sasl.oauthbearer.config.
_REMAINDER = re.compile(r"(beginning at: ).+", re.DOTALL)
_HANDSHAKE = re.compile(r"SSL routines.* in state SSL_HANDSHAKE\b")


def new_client(kind: Callable[..., Any], settings: dict[str, Any]) -> Any:
    """Return a producer, consumer or admin client. Raises KafkaException for settings that librdkafka refuses, and
    NoCredentials.
    """
    if kind is AdminClient:
        # Without it, a broker creates a topic as soon as its metadata is requested. For consumers this is the default.
        settings = {**settings, "allow.auto.create.topics": False}
    _refuse_wrapped(settings)
    _check_files(settings)
    tokens = settings.get("oauth_cb")
    if isinstance(tokens, AwsTokens):
        tokens.fetch()  # librdkafka would only report a missing token after ten seconds
    log = _log()
    if log.isEnabledFor(logging.DEBUG):
        settings = _DEBUG | settings
    hiding = _Hiding(settings)
    on_error = settings.get("error_cb")
    if on_error is not None:
        settings = {**settings, "error_cb": lambda error: on_error(with_cause(hiding.error(error)))}
    try:
        return kind(settings, logger=_Log(log, hiding))
    except KafkaException as error:
        # Without the cause, whose text a traceback would show.
        raise KafkaException(hiding.error(error.args[0])) from None


def with_cause(error: KafkaError) -> KafkaError:
    """Return the error with the code of its cause: if a TLS handshake fails in its first call, because the broker's
    answer was there already, librdkafka reports a lost connection."""
    if error.code() != KafkaError._TRANSPORT or not _HANDSHAKE.search(error.str()):
        return error
    return KafkaError(KafkaError._SSL, error.str(), error.fatal(), error.retriable())


def answer_of(question: Future[Any], timeout: float | None = None) -> Any:
    """Return the result of an admin client's request. Raises KafkaException, and TimeoutError after `timeout` seconds.

    `result` alone would raise the exception that the future keeps. Its traceback leads to frames that have the
    future and the client: a cycle, which keeps the client until a garbage collection. That may run in a callback, on a
    thread of this client, and a client that is destroyed there makes librdkafka abort the process.
    """
    failure = question.exception(timeout)
    if isinstance(failure, KafkaException):
        raise KafkaException(*failure.args)
    return question.result()


def _refuse_wrapped(settings: Mapping[str, Any]) -> None:
    """Refuse large numbers: librdkafka drops their upper bits and checks only the rest."""
    for name, value in settings.items():
        if isinstance(value, int) and abs(value) > MAX_NUMBER:
            text = f'Configuration property "{name}" value {value} is outside allowed range (at most {MAX_NUMBER})'
            raise KafkaException(KafkaError(KafkaError._INVALID_ARG, text))


def _check_files(settings: Mapping[str, Any]) -> None:
    """Check the files that librdkafka reads itself: it would block on a named pipe. Raises KafkaException."""
    for name, value in settings.items():
        # ssl.ca.location may be a directory. librdkafka reports missing files.
        if name.endswith((".location", ".keytab", ".file")) and os.path.exists(value) and not os.path.isdir(value):
            try:
                check_plain(value)
            except OSError as error:
                reason = f"{name}: cannot read {value}: {error.strerror}"
                raise KafkaException(KafkaError(KafkaError._INVALID_ARG, reason)) from None


class _Hiding:
    """Masks the secrets of a client's settings in librdkafka's messages."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._secrets = [str(value) for name, value in settings.items() if is_secret(name, "")]

    def text(self, text: str) -> str:
        return without_passwords(hidden(_REMAINDER.sub(rf"\1{MASK}", text), self._secrets))

    def error(self, error: KafkaError) -> KafkaError:
        text = self.text(error.str())
        return error if text == error.str() else KafkaError(error.code(), text, error.fatal(), error.retriable())


class _Log:
    """The logger for librdkafka, which only calls `log`."""

    def __init__(self, logger: logging.Logger, hiding: _Hiding) -> None:
        self._logger = logger
        self._hiding = hiding

    def log(self, level: int, message: str, *values: object) -> None:
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", self._hiding.text(message % values))


def refusal(kind: Callable[..., Any], settings: Mapping[str, Any]) -> str:
    """Return why librdkafka refuses the settings, or "". Does not connect."""
    tried = {name: value for name, value in settings.items() if name not in ("bootstrap.servers", "oauth_cb")}
    if "OAUTHBEARER" in (tried.get("sasl.mechanism"), tried.get("sasl.mechanisms")):
        # With it, a client requests a token on creation.
        tried["security.protocol"] = str(tried["security.protocol"]).upper().removeprefix("SASL_")
    try:
        new_client(kind, tried)
    except KafkaException as error:
        reason: str = error.args[0].str()
        return f"{reason}; {NO_KERBEROS}" if "SASL mechanism GSSAPI" in reason else reason
    return ""


def unused(kind: Callable[..., Any], settings: Mapping[str, Any]) -> list[str]:
    """Return librdkafka's warnings about unused settings. Does not connect. Raises KafkaException for settings that it
    refuses.
    """
    lines = _Lines()
    log = logging.Logger("librdkafka")  # a separate logger, whose lines are wanted
    log.addHandler(lines)
    kind(dict(settings), logger=log).poll(0)  # a poll delivers the lines
    return [text for text in lines.texts if "will be ignored" in text]


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage().rpartition("]: ")[2])


def client_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that apply to every client: brokers and security."""
    wanted = ("bootstrap.servers", "client.id", "security.", "sasl.", "ssl.", "enable.ssl", "https.", "oauth_cb")
    return {name: value for name, value in settings.items() if name.startswith(wanted)}


def _log() -> logging.Logger:
    """Return the logger of librdkafka's own lines. It is silent unless configured: important errors arrive by
    callback."""
    log = logging.getLogger("librdkafka")
    if log.level == logging.NOTSET:
        log.setLevel(logging.CRITICAL)
    return log
