from collections.abc import Sequence
from typing import Any

import pytest

from log_shipper.runtime.monitor.health import Health
from log_shipper.spark_sink.monitor.health import Inactivity, elapsed, health, is_falling_behind
from log_shipper.spark_sink.monitor.observations import SinkState
from log_shipper.spark_sink.views.progress import Figures

NOW = 100_000.0


def judged(silent: float = 1.0, stalled: float = 1.0, lags: Sequence[int | None] = (), **state: Any) -> Health:
    seen = SinkState(**{"started": 0.0, "streaming": True, "last_batch": NOW - 4, "batch_rows": 1200, **state})
    return health(seen, Inactivity(silent, stalled, 300.0), lags, NOW)


def test_a_sink_that_lands_is_ok() -> None:
    assert judged() == Health(
        "ok", "Lines land. The last micro-batch, 4 seconds ago, had 1,200 rows; no records were behind then."
    )


def test_a_sink_without_new_records_is_ok() -> None:
    assert judged(last_batch=None) == Health("ok", "The query is running; Kafka has no new records.")


@pytest.mark.parametrize("streaming", [True, False])
def test_a_sink_without_progress_is_failing(streaming: bool) -> None:
    state = judged(silent=720.0, stalled=720.0, streaming=streaming)
    assert state.state == "failing"
    assert state.text.startswith("The sink has made no progress for 12 minutes (limit: 5 minutes); nothing")


def test_a_batch_that_takes_long_and_makes_progress_is_degraded() -> None:
    state = judged(silent=720.0, stalled=31.0)
    assert state.state == "degraded"
    assert state.text.startswith("No micro-batch has finished for 12 minutes: the current one is large or slow.")


def test_a_start_is_starting() -> None:
    assert judged(streaming=False).state == "starting"


def test_a_start_that_waits_names_what_is_missing() -> None:
    state = judged(streaming=False, missing=("topic a", "topic b", "topic c", "topic d"))
    assert state.state == "starting"
    assert state.text.startswith("Waiting for topic a, topic b, topic c and 1 more. Nothing lands")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"last_bad": NOW - 30}, "Records could not be parsed (most recently 30 seconds ago)"),
        ({"last_lost": NOW - 30, "lost": 12_000}, "Kafka deleted 12,000 offsets before they were read:"),
        ({"views": {"errors": Figures(failed=True), "hosts": Figures()}}, "The view errors failed; lines still"),
        ({"last_group_failure": NOW - 30}, "Cannot commit offsets to the monitoring group"),
    ],
)
def test_what_a_person_should_look_at_is_degraded(state: dict[str, Any], words: str) -> None:
    judgement = judged(**state)
    assert judgement.state == "degraded"
    assert judgement.text.startswith(words)


@pytest.mark.parametrize(
    "state", [{"last_bad": NOW - 901}, {"last_lost": NOW - 3601}, {"last_group_failure": NOW - 901}]
)
def test_what_is_long_over_is_ok(state: dict[str, Any]) -> None:
    assert judged(**state).state == "ok"


def test_several_problems_are_all_named_the_worst_first() -> None:
    text = judged(last_bad=NOW, last_lost=NOW, lost=1).text
    assert text.index("Kafka deleted") < text.index("could not be parsed")


def test_a_growing_lag_is_degraded() -> None:
    lags = [100_000 + 1000 * index for index in range(300)]
    state = judged(lags=lags, ends={("logs", 0): lags[-1]})
    assert state.state == "degraded"
    assert state.text.startswith("The lag is growing: 399,000 records.")


@pytest.mark.parametrize(
    "lags",
    [
        [],
        [10 * index for index in range(300)],  # little
        [400_000 - 1000 * index for index in range(300)],  # it falls
        [100_000 + 1000 * index for index in range(100)],  # for three minutes only
        [*[None] * 250, *[100_000 + 9000 * index for index in range(50)]],
    ],
)
def test_another_lag_is_not_growing(lags: list[int | None]) -> None:
    assert not is_falling_behind(lags)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-1, "0 seconds"),
        (1, "1 second"),
        (60, "1 minute"),
        (90, "90 seconds"),
        (150, "2 minutes"),
        (3600, "1 hour"),
        (5000, "83 minutes"),
        (90_000, "25 hours"),
        (200_000, "2 days"),
    ],
)
def test_durations_are_words(seconds: float, expected: str) -> None:
    assert elapsed(seconds) == expected
