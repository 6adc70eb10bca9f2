"""Clients of librdkafka, of the output and of the input: what none can be made of is a StartError of either."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException

from log_shipper.runtime.kafka import clients
from log_shipper.runtime.kafka.security import AwsTokens, NoCredentials, Security
from log_shipper.shipper.errors import StartError

logger = logging.getLogger(__name__)

Settings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ClientMaker:
    """`refused` and `aws`: how a message begins about settings that librdkafka refuses, and about credentials of AWS;
    `kept`: how one ends that says that a token could not be had."""

    refused: str
    aws: str
    kept: str = ""

    def new(self, kind: Callable[..., Any], settings: Settings) -> Any:
        """Return a client. Raises StartError for settings that librdkafka refuses, and without credentials of AWS."""
        try:
            return clients.new_client(kind, settings)
        except NoCredentials as error:
            raise StartError(f"{self.aws}: {error}") from error
        except KafkaException as error:
            raise StartError(f"{self.refused}: {error.args[0].str()}") from error

    def refusal(self, kind: Callable[..., Any], settings: Settings) -> str:
        """Return why librdkafka would refuse the settings, "" if it takes them. Nothing is connected to."""
        reason = clients.refusal(kind, settings)
        return f"{self.refused}: {reason}" if reason else ""

    def tokens(self, security: Security) -> Settings:
        """Return what gives a client its tokens of AWS, if it needs any."""
        return {} if security.aws is None else {"oauth_cb": AwsTokens(security.aws, self._no_token)}

    def _no_token(self, error: NoCredentials) -> None:
        logger.warning("%s: %s. Retrying in 10 seconds%s", self.aws, error, self.kept)


def latest(read: Callable[[], Settings]) -> Callable[[], Settings]:
    """Return a function that returns the settings with what is in the files of TLS by then; if that cannot be used,
    with what was read before. Raises StartError if it cannot be used now."""
    known = read()

    def read_again() -> Settings:
        nonlocal known
        try:
            known = read()
        except StartError as error:
            logger.error("%s. The previous settings stay in use", error)
        return known

    return read_again
