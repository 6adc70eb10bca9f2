"""Nothing that is read at a start, or in a batch, becomes a plan that grows with topics and partitions."""

import pytest

from tests.unit.spark_sink.landing.landing_lab import Killed, LandingLab


def send_everywhere(lab: LandingLab, offset: int, topics: int, partitions: int) -> None:
    for topic in range(topics):
        for partition in range(partitions):
            lab.send_lines(offset, file=f"{topic}/{partition}", topic=f"logs-{topic}", partition=partition)


@pytest.mark.parametrize(
    ("topics", "partitions"),
    [
        (1, 600),
        (60, 10),  # more topics than a condition names
        pytest.param(100, 100, marks=pytest.mark.slow("10,000 partitions")),
        pytest.param(1000, 2, marks=pytest.mark.slow("1,000 topics")),
    ],
)
def test_a_batch_that_is_killed_lands_once_when_it_runs_again(lab: LandingLab, topics: int, partitions: int) -> None:
    send_everywhere(lab, 0, topics, partitions)
    lab.start()
    lab.land()
    lab.start()
    send_everywhere(lab, 10, topics, partitions)
    with pytest.raises(Killed):
        lab.land("after rows")
    lab.start()
    lab.land()
    assert len(set(lab.lines())) == len(lab.lines()) == 2 * topics * partitions
    lab.start()
    send_everywhere(lab, 20, topics, partitions)
    assert lab.land().rows == topics * partitions
