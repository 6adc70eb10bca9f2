from collections.abc import Callable

import pytest

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.kafka.group import MonitoringGroup
from log_shipper.spark_sink.kafka.offsets import Offsets

P, Q = ("logs", 0), ("logs", 1)


class FakeKafka:
    """Records the commits; `answers` and `refuses` are set by the test."""

    def __init__(self) -> None:
        self.commits: list[Offsets] = []
        self.answers = True
        self.refuses = False
        self.waited = 0

    def commit(self, group: str, offsets: Offsets) -> Callable[[bool], bool]:
        assert group == "people"
        self.commits.append(offsets)
        refused = self.refuses
        return lambda wait: self._done(wait, refused)

    def _done(self, wait: bool, refused: bool) -> bool:
        self.waited += wait
        if refused:
            raise SinkError("cannot commit")
        return self.answers or wait


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka()


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def group(kafka: FakeKafka, warnings: list[str]) -> MonitoringGroup:
    return MonitoringGroup(kafka, "people", warnings.append)


def test_only_what_is_new_is_committed(kafka: FakeKafka, group: MonitoringGroup) -> None:
    group.commit({P: 1, Q: 1})
    group.commit({P: 2, Q: 1})
    group.commit({P: 2, Q: 1})
    assert kafka.commits == [{P: 1, Q: 1}, {P: 2}]


def test_a_slow_answer_holds_up_no_batch_and_the_next_commit_has_all(kafka: FakeKafka, group: MonitoringGroup) -> None:
    kafka.answers = False
    group.commit({P: 1})
    group.commit({P: 2})
    group.commit({P: 3})
    assert (kafka.commits, kafka.waited) == ([{P: 1}], 0)
    kafka.answers = True
    group.commit({P: 4})
    assert kafka.commits == [{P: 1}, {P: 4}]


def test_a_failure_is_a_warning_once_until_it_works_again(
    kafka: FakeKafka, group: MonitoringGroup, warnings: list[str]
) -> None:
    kafka.refuses = True
    for end in range(4):
        group.commit({P: end, Q: 7})
    assert len(warnings) == 1
    assert warnings[0].startswith("cannot commit; rows still land")
    kafka.refuses = False
    group.commit({P: 4, Q: 7})
    assert kafka.commits[-1] == {P: 4, Q: 7}  # what was refused is committed again
    group.commit({P: 5, Q: 7})
    kafka.refuses = True
    group.commit({P: 6, Q: 7})
    group.commit({P: 7, Q: 7})
    assert len(warnings) == 2


def test_the_last_ends_are_committed_and_waited_for(kafka: FakeKafka, group: MonitoringGroup) -> None:
    kafka.answers = False
    group.commit({P: 1})
    group.commit({P: 2})
    group.close()
    assert (kafka.commits, kafka.waited) == ([{P: 1}, {P: 2}], 2)


def test_without_a_name_nothing_is_committed(kafka: FakeKafka, warnings: list[str]) -> None:
    silent = MonitoringGroup(kafka, "", warnings.append)
    silent.commit({P: 1})
    silent.close()
    assert kafka.commits == []
