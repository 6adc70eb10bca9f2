import pytest
from confluent_kafka import KafkaError

from log_shipper.spark_sink.kafka.failures import is_certain, translate

NO_TOKEN = KafkaError(KafkaError._AUTHENTICATION, "Failed to acquire SASL OAUTHBEARER token: Connection refused")
MECHANISM = KafkaError(
    KafkaError._AUTHENTICATION,
    "SASL SCRAM-SHA-256 mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's supported mechanisms: "
    "PLAIN,OAUTHBEARER",
)
ALERT = KafkaError(KafkaError._TRANSPORT, "Receive failed: ssl/tls alert bad certificate: SSL alert number 42")
PLAINTEXT = KafkaError(KafkaError._TRANSPORT, "SSL handshake failed: connecting to a PLAINTEXT broker listener?")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (NO_TOKEN, "no token for Kafka"),
        (MECHANISM, "check kafka.sasl.mechanism"),
        (ALERT, "the broker refuses the client's certificate"),
        (PLAINTEXT, "does not use TLS"),
        (KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED), "lack the permission to use the consumer group"),
        (KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), "lack the permission to read the topic"),
        (KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED), "lack the required permission"),
        (KafkaError(KafkaError.NON_EMPTY_GROUP), "another program uses this consumer group"),
        (KafkaError(KafkaError.NOT_COORDINATOR), "the group has no coordinator"),
        (KafkaError(KafkaError._UNKNOWN_PARTITION), "the topic does not exist"),
        (KafkaError(KafkaError.OFFSET_OUT_OF_RANGE), "set lost_offsets: continue"),
        (KafkaError(KafkaError._TIMED_OUT), "Kafka is not responding"),
    ],
)
def test_what_the_client_reports_is_put_into_words_with_the_option(error: KafkaError, message: str) -> None:
    translated = str(translate(error, "reading"))
    assert translated.startswith("reading: ")
    assert message in translated
    assert translated.endswith(error.str())


def test_an_error_without_a_meaning_of_ours_is_passed_on() -> None:
    error = KafkaError(KafkaError._READ_ONLY)
    assert str(translate(error, "reading")) == f"reading: {error.str()}"


def test_a_token_that_is_not_given_may_be_given_later() -> None:
    assert is_certain(MECHANISM)
    assert not is_certain(NO_TOKEN)
    assert not is_certain(PLAINTEXT)
