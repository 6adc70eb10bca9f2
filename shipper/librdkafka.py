"""Clients of librdkafka, for output and input; a failure to create one is a StartError."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from log_shipper.runtime.kafka import clients
from log_shipper.runtime.kafka.security import AwsTokens, NoCredentials, Security
from log_shipper.shipper.errors import StartError

logger = logging.getLogger(__name__)

Settings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ClientMaker:
    """`refused` and `aws` begin the messages about rejected settings and AWS credentials; `kept` ends the message about
    a missing token."""

    refused: str
    aws: str
    kept: str = ""

    def new(self, kind: Callable[..., Any], settings: Settings) -> Any:
        """Return a client. Raises StartError for settings that librdkafka rejects, or missing AWS credentials."""
        try:
            return clients.new_client(kind, settings)
        except NoCredentials as error:
            raise StartError(f"{self.aws}: {error}") from error
        except KafkaException as error:
            raise StartError(f"{self.refused}: {error.args[0].str()}") from error

    def refusal(self, kind: Callable[..., Any], settings: Settings) -> str:
        """Return why librdkafka rejects the settings, "" if it accepts them. Does not connect."""
        reason = clients.refusal(kind, settings)
        return f"{self.refused}: {reason}" if reason else ""

    def tokens(self, security: Security) -> Settings:
        """Return the settings that supply AWS tokens, if needed."""
        return {} if security.aws is None else {"oauth_cb": AwsTokens(security.aws, self._no_token)}

    def _no_token(self, error: NoCredentials) -> None:
        logger.warning("%s: %s. Retrying in 10 seconds%s", self.aws, error, self.kept)


def is_fatal(error: KafkaError) -> bool:
    """Return True if the client is unusable after it. The error that a consumer returns in place of a record has no
    other mark."""
    return error.fatal() or error.code() == KafkaError._FATAL


def latest(read: Callable[[], Settings]) -> Callable[[], Settings]:
    """Return a function that returns the settings with the current TLS files, or the previous ones if these are
    unusable. Raises StartError if they are unusable now."""
    known = read()

    def read_again() -> Settings:
        nonlocal known
        try:
            known = read()
        except StartError as error:
            logger.error("%s. The previous settings stay in use", error)
        return known

    return read_again
