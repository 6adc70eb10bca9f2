import pytest
from confluent_kafka import KafkaError

from log_shipper.shipper.event import Topics
from log_shipper.shipper.output.kafka_errors import ADVICE, POISON, PURGED, ErrorReporter
from tests.fakes import ManualClock

DOWN = KafkaError._ALL_BROKERS_DOWN
LOGS = Topics("logs")


@pytest.fixture
def errors(clock: ManualClock) -> ErrorReporter:
    return ErrorReporter("a:9092", "logs", clock)


def test_an_error_is_logged_immediately_and_then_once_a_minute(
    errors: ErrorReporter, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(121):
        errors.report(DOWN, "3/3 brokers are down")
        clock.advance(1)
    assert len(caplog.records) == 3
    assert "a:9092" in caplog.text
    assert "no broker is reachable" in caplog.text


def test_another_kind_of_error_is_logged_immediately(errors: ErrorReporter, caplog: pytest.LogCaptureFixture) -> None:
    errors.report(DOWN, "down")
    errors.report(KafkaError._AUTHENTICATION, "wrong password")
    assert len(caplog.records) == 2


def test_the_recovery_is_logged_once(errors: ErrorReporter, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    errors.report_recovery(LOGS)
    assert not caplog.records
    errors.report(DOWN, "down")
    errors.report_recovery(LOGS)
    errors.report_recovery(LOGS)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_the_recovery_of_the_only_topic_is_logged_once_whatever_was_wrong(
    errors: ErrorReporter, caplog: pytest.LogCaptureFixture
) -> None:
    errors.report(DOWN, "down")
    errors.report(KafkaError.LEADER_NOT_AVAILABLE, "no leader", "logs")
    caplog.set_level("INFO")
    errors.report_recovery(LOGS)
    assert [message for message in caplog.messages if "delivered again" in message] == [
        "Kafka (topic logs at a:9092): events are delivered again"
    ]


def test_a_topic_is_held_up_until_something_is_delivered_to_it(
    errors: ErrorReporter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    errors.report(KafkaError.TOPIC_AUTHORIZATION_FAILED, "denied", "secret")
    errors.report_recovery(LOGS)
    assert errors.topics_waiting == 1
    errors.report_recovery(Topics(None, ["logs", None, "secret"], {1: "no topic"}))
    assert errors.topics_waiting == 0
    assert [record.getMessage() for record in caplog.records if record.levelname == "INFO"] == [
        "Kafka (topic secret at a:9092): events are delivered again"
    ]


def test_an_error_that_comes_and_goes_is_logged_once_a_minute(
    errors: ErrorReporter, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    for _ in range(61):
        errors.report(DOWN, "down")
        errors.report_recovery(LOGS)
        clock.advance(1)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO", "WARNING", "INFO"]


def test_errors_that_came_back_does_not_hide_behind_one_that_is_over(
    errors: ErrorReporter, caplog: pytest.LogCaptureFixture
) -> None:
    errors.report(KafkaError._AUTHENTICATION, "wrong password")
    errors.report_recovery(LOGS)
    errors.report(DOWN, "down")
    assert len(caplog.records) == 2


def test_no_error_is_of_two_kinds() -> None:
    assert not POISON & PURGED
    assert not POISON & set(ADVICE)


@pytest.mark.parametrize("alert", [42, 45, 46, 48, 116])
def test_a_certificate_that_the_broker_refuses_is_named_as_the_cause(
    alert: int, errors: ErrorReporter, caplog: pytest.LogCaptureFixture
) -> None:
    errors.report(KafkaError._TRANSPORT, f"Receive failed: ssl/tls alert: SSL alert number {alert} (after 1ms)")
    assert "the broker rejects the client certificate" in caplog.text
    assert "check output.kafka.hosts" not in caplog.text


def test_another_alert_of_tls_has_the_advice_for_its_error(
    errors: ErrorReporter, caplog: pytest.LogCaptureFixture
) -> None:
    errors.report(KafkaError._SSL, "SSL alert number 40 (after 1ms)")
    assert "TLS handshake failed" in caplog.text


def test_errors_are_counted_by_name_also_those_that_are_not_logged(errors: ErrorReporter) -> None:
    for _ in range(3):
        errors.report(KafkaError._TRANSPORT, "broken")
    errors.report_large_request(KafkaError.MSG_SIZE_TOO_LARGE, "logs")
    errors.report_refused_times("old", "logs")
    assert errors.counts() == {"_TRANSPORT": 3, "MSG_SIZE_TOO_LARGE": 1, "INVALID_TIMESTAMP": 1}


def test_it_fails_from_an_error_until_something_is_delivered(errors: ErrorReporter) -> None:
    assert not errors.failing
    errors.report(KafkaError._TRANSPORT, "broken")
    assert errors.failing
    assert errors.problem == (
        "Kafka (topic logs at a:9092): connection lost or refused; check output.kafka.hosts, the network and the broker"
    )
    errors.report_recovery(LOGS)
    assert not errors.failing


def test_the_problem_is_the_last_error_also_if_that_is_not_logged_again(errors: ErrorReporter) -> None:
    assert errors.problem == ""
    errors.report(KafkaError._TRANSPORT, "broken")
    errors.report(KafkaError._RESOLVE, "no such host")
    errors.report_recovery(LOGS)
    errors.report(KafkaError._TRANSPORT, "broken")
    assert "connection lost" in errors.problem


def test_the_problem_is_the_reason_that_was_logged_not_that_no_broker_is_left(
    errors: ErrorReporter, caplog: pytest.LogCaptureFixture
) -> None:
    errors.report(KafkaError._AUTHENTICATION, "wrong password")
    errors.report(DOWN, "1/1 brokers are down")
    assert errors.problem in caplog.text
    assert "authentication failed" in errors.problem


def test_an_answer_of_the_broker_ends_it_unless_a_topic_waits(errors: ErrorReporter) -> None:
    errors.report(KafkaError._TRANSPORT, "broken")
    errors.note_response()
    assert not errors.failing
    errors.report(KafkaError.TOPIC_AUTHORIZATION_FAILED, "denied", "secret")
    errors.note_response()
    assert errors.failing
    assert list(errors.waiting()) == ["secret"]
    assert "grant the user Write on it" in errors.waiting()["secret"]


def test_a_topic_that_is_refused_is_no_failure_of_an_output_that_has_others(clock: ManualClock) -> None:
    errors = ErrorReporter("a:9092", "", clock)
    errors.report(KafkaError.UNKNOWN_TOPIC_OR_PART, "unknown", "secret")
    assert (errors.failing, errors.topics_waiting) == (False, 1)
    errors.note_response()
    assert not errors.failing
    errors.report(DOWN, "down")
    assert errors.failing


def test_the_only_topic_that_is_refused_is_a_failure_until_it_takes_events(errors: ErrorReporter) -> None:
    errors.report(KafkaError.UNKNOWN_TOPIC_OR_PART, "unknown", "logs")
    errors.note_response()
    assert errors.failing
    errors.report_recovery(LOGS)
    assert not errors.failing


def test_a_topic_that_is_refused_again_within_the_minute_waits_though_it_is_not_logged(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    errors = ErrorReporter("a:9092", "", clock)
    for _ in range(3):
        errors.report(KafkaError.UNKNOWN_TOPIC_OR_PART, "unknown", "secret")
        assert (errors.topics_waiting, list(errors.waiting())) == (1, ["secret"])
        errors.report_recovery(Topics("secret"))
        assert errors.topics_waiting == 0
        clock.advance(1)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
