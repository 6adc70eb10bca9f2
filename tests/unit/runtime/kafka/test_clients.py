import logging
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from log_shipper.runtime.kafka.clients import new_client, refusal, with_cause

MARKER = "hunter2-and-more"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"ssl.key.pem": MARKER, "security.protocol": "SSL"}, "ssl.key.pem failed"),
        ({"acks": MARKER, "sasl.password": MARKER}, 'Invalid value for configuration property "request.required.acks"'),
        ({"sasl.mechanism": MARKER, "sasl.password": MARKER, "security.protocol": "SASL_SSL"}, "xxxxx"),
    ],
)
def test_what_librdkafka_refuses_is_reported_without_secrets(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(KafkaException) as caught:
        new_client(Producer, settings)
    assert reason in str(caught.value)
    assert MARKER not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert MARKER not in refusal(Producer, settings)


@pytest.mark.parametrize("value", [2**32 + 1000, -(2**32) + 1000, 2**31])
def test_a_number_of_which_librdkafka_would_drop_bits_is_refused(value: int) -> None:
    assert f'message.max.bytes" value {value} is outside' in refusal(Producer, {"message.max.bytes": value})
    assert refusal(Producer, {"message.max.bytes": 1_000_000}) == ""


def test_what_cannot_be_read_of_a_tokens_options_is_not_shown() -> None:
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "enable.sasl.oauthbearer.unsecure.jwt": True,
        "sasl.oauthbearer.config": f"principal=me {MARKER}",
    }
    errors: list[str] = []
    client = new_client(Producer, settings | {"error_cb": lambda error: errors.append(error.str())})
    for _ in range(600):  # until it is reported, for a minute at most
        client.poll(0.1)
        if errors:
            break
    assert errors[0].endswith("Unrecognized sasl.oauthbearer.config beginning at: xxxxx")


def test_what_librdkafka_logs_has_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "librdkafka")

    def client(settings: dict[str, Any], logger: Any) -> None:
        """As the library does it."""
        logger.log(logging.ERROR, "%s [%s] %s", "FAIL", "producer-1", f"no user has {settings['sasl.password']}")
        logger.log(logging.DEBUG, "%s [%s] %s", "STATE", "producer-1", "UP")

    new_client(client, {"sasl.password": MARKER})
    assert caplog.messages == ["FAIL [producer-1] no user has xxxxx"]


def test_librdkafka_logs_its_connections_if_its_logger_has_the_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "librdkafka")
    new_client(Producer, {"bootstrap.servers": "127.0.0.1:9"}).poll(0)
    assert "initialized" in caplog.text
    caplog.clear()
    caplog.set_level(logging.NOTSET, "librdkafka")
    new_client(Producer, {"bootstrap.servers": "127.0.0.1:9"}).poll(0)
    assert logging.getLogger("librdkafka").level == logging.CRITICAL
    assert "initialized" not in caplog.text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "error:0A000086:SSL routines::certificate verify failed (after 20ms in state SSL_HANDSHAKE)",
            KafkaError._SSL,
        ),
        ("Disconnected (after 20ms in state SSL_HANDSHAKE)", KafkaError._TRANSPORT),
        (
            "error:0A000412:SSL routines::ssl/tls alert bad certificate:SSL alert number 42 (after 5ms in state "
            "APIVERSION_QUERY)",
            KafkaError._TRANSPORT,
        ),
    ],
)
def test_a_handshake_that_fails_at_once_is_no_lost_connection(text: str, code: int) -> None:
    error = with_cause(KafkaError(KafkaError._TRANSPORT, f"ssl://broker:9093/bootstrap: {text}"))
    assert error.code() == code
    assert text in error.str()
