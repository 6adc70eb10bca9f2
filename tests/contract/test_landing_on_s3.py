"""A sink whose tables are in a bucket lands each line once, whatever dies or fails."""

from collections.abc import Callable
from pathlib import Path

import pytest

from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.options.tables import TableConfig
from tests.object_store import Fault, ObjectStore
from tests.unit.spark_sink.landing.landing_lab import Killed, LandingLab

LINES = [("f", offset) for offset in range(0, 90, 10)]


@pytest.fixture
def make_lab(tmp_path: Path, object_store: ObjectStore) -> Callable[..., LandingLab]:
    bucket = object_store.create_bucket()

    def make(path: str = "lines") -> LandingLab:
        table = TableConfig(path=f"{bucket}/{path}", options=dict(object_store.options))
        return LandingLab(tmp_path, table=table)

    return make


@pytest.fixture
def lab(make_lab: Callable[..., LandingLab]) -> LandingLab:
    return make_lab()


def land(lab: LandingLab, batch: int) -> None:
    lab.send_lines(*range(30 * batch, 30 * batch + 30, 10))
    lab.send(b"no JSON")
    lab.land()


def expect_all(lab: LandingLab) -> None:
    assert lab.lines() == LINES
    assert lab.reasons() == {"not JSON": 3}


seldom = pytest.mark.slow("the other moments are in the gate")


@pytest.mark.parametrize(
    "moment",
    [pytest.param("before rows", marks=seldom), "after rows", pytest.param("after bad", marks=seldom), "after marks"],
)
def test_a_batch_that_is_killed_lands_once(lab: LandingLab, moment: str) -> None:
    lab.start()
    land(lab, 0)
    lab.send_lines(30, 40, 50)
    lab.send(b"no JSON")
    with pytest.raises(Killed):
        lab.land(moment)
    lab.start()
    lab.land()
    land(lab, 2)
    expect_all(lab)
    lab.send_lines(60, 70, 80)
    assert lab.land().repeats == 3


def test_a_template_has_a_table_for_each_topic(make_lab: Callable[..., LandingLab]) -> None:
    lab = make_lab("of/%{[topic]}")
    lab.start()
    for topic in ("a", "b"):
        lab.send_lines(0, 10, topic=topic)
    lab.land()
    for topic in ("a", "b"):
        assert lab.lines(lab.config.table.path.replace("%{[topic]}", topic)) == [("f", 0), ("f", 10)]


def test_of_two_sinks_with_one_checkpoint_one_is_refused(lab: LandingLab) -> None:
    lab.start()
    land(lab, 0)
    first = lab.callback
    lab.start()
    lab.send_lines(30, 40, 50)
    lab.land()
    with pytest.raises(Refused, match=r"a second spark-sink run|a second job runs with the same checkpoint"):
        first(None, 1)
    land(lab, 2)
    assert lab.lines() == LINES


def test_a_commit_whose_answer_is_lost_lands_once(lab: LandingLab, object_store: ObjectStore) -> None:
    lab.start()
    for batch in range(3):
        object_store.fail("answer lost", "PUT .*_delta_log", times=3)
        land(lab, batch)
    expect_all(lab)
    lab.start()
    expect_all(lab)


@pytest.mark.slow("each request of a batch fails once, with each fault")
@pytest.mark.parametrize("fault", ["unavailable", "dropped", "answer lost"])
def test_whichever_request_fails_a_batch_lands_once(lab: LandingLab, object_store: ObjectStore, fault: Fault) -> None:
    lab.start()
    lab.send_lines(0)
    object_store.requests()
    lab.land()
    count = len(object_store.requests())
    for number in range(count):
        object_store.fail(fault, "", skip=number)
        lab.send_lines(number + 1)
        lab.land()
    assert lab.lines() == [("f", offset) for offset in range(count + 1)]
    assert count > 20
