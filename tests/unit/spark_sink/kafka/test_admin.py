"""Questions to a Kafka that does not answer. What a broker answers is in tests/e2e/test_sink_kafka.py."""

import gc
import re
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, Uuid
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but imported there without `as`
    AdminClient,
    ListOffsetsResultInfo,
)

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.kafka.admin import Admin, text_of_id
from log_shipper.spark_sink.kafka.client import ClientOptions

NOWHERE = "127.0.0.1:1"
LONG = 60.0  # seconds; what has just been asked is not over by then


def to(servers: str, **more: str) -> ClientOptions:
    return ClientOptions((("bootstrap.servers", servers), *more.items()), servers)


def refused(admin: Admin) -> str:
    """Return the error of a question to a port on which nothing listens. On a busy machine the patience may be over
    before the client has learned why nothing answers: then it is asked again."""
    for _ in range(10):
        with pytest.raises(SinkError) as caught:
            admin.topic_names()
        if "refused" in str(caught.value):
            break
    return str(caught.value)


def test_a_broker_that_does_not_answer_is_named_when_the_patience_is_over() -> None:
    began = time.monotonic()
    with Admin(lambda: to(NOWHERE), patience=0.5) as admin:
        refusal = refused(admin)
    assert re.match(r"cannot read from Kafka at 127\.0\.0\.1:1: Kafka is not responding.*refused", refusal)
    assert time.monotonic() - began < 20


def test_offsets_and_commits_are_not_awaited_longer_either() -> None:
    with Admin(lambda: to(NOWHERE), patience=0.5) as admin:
        with pytest.raises(SinkError, match="Kafka is not responding"):
            admin.latest([("logs", 0)])
        with pytest.raises(SinkError, match="Kafka is not responding"):
            admin.partitions(["logs"])
        with pytest.raises(SinkError, match="Kafka is not responding"):
            admin.committed("people")
        done = admin.commit("people", {("logs", 0): 3})
        with pytest.raises(
            SinkError, match=r"cannot commit offsets of the group people at 127\.0\.0\.1:1: Kafka is not responding"
        ):
            done(True)


@pytest.mark.parametrize(
    "question", [Admin.topic_names, lambda admin: admin.latest([("logs", 0)]), lambda admin: admin.committed("people")]
)
def test_who_asks_once_learns_at_once_that_no_broker_can_be_reached(question: Callable[[Admin], object]) -> None:
    with Admin(lambda: to(NOWHERE), patience=LONG, patience_if_down=0.5) as admin:
        began = time.monotonic()
        with pytest.raises(SinkError, match="Kafka is not responding"):
            question(admin)
    assert time.monotonic() - began < LONG / 3


@pytest.mark.parametrize(
    "question",
    [
        Admin.topic_names,
        lambda admin: admin.partitions(["logs"]),
        lambda admin: admin.committed("people"),
        lambda admin: admin.commit("people", {("logs", 0): 3})(True),
    ],
)
def test_no_cycle_keeps_a_client_that_had_no_answer(question: Callable[[Admin], object]) -> None:
    """A garbage collection on the client's own thread would destroy it there: librdkafka aborts the process then."""
    gc.collect()
    gc.disable()
    try:
        with Admin(lambda: to(NOWHERE), patience=0.5) as admin:
            made = weakref.ref(admin._connection())
            with pytest.raises(SinkError):
                question(admin)
        del admin
        assert made() is None
    finally:
        gc.enable()


def test_a_commit_is_looked_at_without_waiting_for_it() -> None:
    with Admin(lambda: to(NOWHERE), patience=LONG) as admin:
        done = admin.commit("people", {("logs", 0): 3})
        assert not done(False)


def test_a_name_that_does_not_resolve_is_reported_at_once() -> None:
    began = time.monotonic()
    with Admin(lambda: to("no-such-host.invalid:9092"), patience=60) as admin:
        with pytest.raises(SinkError, match=r"a host name cannot be resolved: check kafka\.hosts"):
            admin.topic_names()
        with pytest.raises(SinkError, match="a host name cannot be resolved"):
            admin.earliest([("logs", 0)])
    assert time.monotonic() - began < 60


def test_nothing_is_asked_about_no_topics() -> None:
    with Admin(lambda: to(NOWHERE)) as admin:
        assert (admin.partitions([]), admin.ids([]), admin.earliest([]), admin.latest([])) == (set(), {}, {}, {})


def test_a_setting_that_the_client_does_not_take_is_reported() -> None:
    options = ClientOptions((("bootstrap.servers", NOWHERE), ("security.protocol", "nonsense")), NOWHERE)
    with (
        pytest.raises(SinkError, match=r"librdkafka rejects these settings.*nonsense"),
        Admin(lambda: options),
    ):
        pass


def test_other_options_are_used_from_the_next_question_on() -> None:
    given = [to(NOWHERE)]
    with Admin(lambda: given[0], patience=0.5) as admin:
        with pytest.raises(SinkError, match=r"127\.0\.0\.1:1"):
            admin.topic_names()
        given[0] = to("127.0.0.1:2")
        assert re.search(r"at 127\.0\.0\.1:2: .*127\.0\.0\.1:2 failed: Connection refused", refused(admin))
    assert repr(admin) == "<Admin 127.0.0.1:2>"


def test_the_id_of_a_topic_is_written_as_kafkas_tools_write_it() -> None:
    assert text_of_id(Uuid(-5, 7)) == "__________sAAAAAAAAABw"
    assert text_of_id(Uuid(0, 0)) == ""


@pytest.mark.parametrize("code", [KafkaError._NOENT, KafkaError.LEADER_NOT_AVAILABLE])
def test_partitions_without_a_leader_for_the_moment_are_asked_for_again(code: int) -> None:
    refused: Future[str] = Future()
    refused.set_exception(KafkaException(KafkaError(code)))
    answered: Future[str] = Future()
    answered.set_result("here")
    futures = [refused, answered]
    admin = Admin(lambda: to(NOWHERE), patience=60)
    assert admin._ask(lambda asked, left: {"logs": futures.pop(0)}) == {"logs": "here"}
    assert futures == []


@pytest.mark.parametrize("code", [KafkaError.FENCED_LEADER_EPOCH, KafkaError.NOT_LEADER_FOR_PARTITION])
def test_a_client_that_knows_a_previous_leader_does_not_ask_again(code: int) -> None:
    """It would ask with the same epoch until the patience is over, as after a kill of the only broker."""
    asked_by = []

    def ask(asked: AdminClient, left: float) -> dict[str, Future[str]]:
        asked_by.append(asked)
        answer: Future[str] = Future()
        if asked is asked_by[0]:
            answer.set_exception(KafkaException(KafkaError(code)))
        else:
            answer.set_result("here")
        return {"logs": answer}

    admin = Admin(lambda: to(NOWHERE), patience=60)
    assert admin._ask(ask) == {"logs": "here"}
    assert len(asked_by) == 2


def test_a_client_that_waits_for_a_controller_which_is_away_does_not_take_all_of_the_patience() -> None:
    asked_by, patience = [], []

    def ask(asked: AdminClient, left: float) -> dict[str, Future[str]]:
        asked_by.append(asked)
        patience.append(left)
        answer: Future[str] = Future()
        if len(asked_by) < 3:
            answer.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT, "Timed out waiting for controller")))
        else:
            answer.set_result("here")
        return {"logs": answer}

    assert Admin(lambda: to(NOWHERE), patience=600)._ask(ask) == {"logs": "here"}
    assert len({id(asked) for asked in asked_by}) == 3
    assert patience == [3.0, 6.0, 12.0]


def test_a_partition_whose_leader_is_away_does_not_end_before_its_first_record() -> None:
    """The client has no error for it where it has an answer about other partitions, and asks the same leader again."""
    asked_by = []

    def ask(asked: AdminClient, left: float) -> dict[int, Future[ListOffsetsResultInfo]]:
        asked_by.append(asked)
        ends = (7, OFFSET_INVALID) if asked is asked_by[0] else (8, 5)
        answers = {}
        for number, end in enumerate(ends):
            answers[number] = Future[ListOffsetsResultInfo]()
            answers[number].set_result(ListOffsetsResultInfo(end, -1, -1))
        return answers

    answers = Admin(lambda: to(NOWHERE), patience=20)._ask(ask)
    assert [answer.offset for answer in answers.values()] == [8, 5]
    assert len(asked_by) == 2
