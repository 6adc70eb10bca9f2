from contextlib import suppress

from log_shipper.spark_sink.landing.stages import STAGES, Stopwatch
from tests.fakes import ManualClock


def test_stages_are_added_up_and_taken_once() -> None:
    clock = ManualClock()
    watch = Stopwatch(clock.monotonic)
    for stage, seconds in (("commit", 1.0), ("marks", 0.5), ("commit", 2.0)):
        with watch.measure(stage):  # type: ignore[arg-type]  # they are names of stages
            clock.advance(seconds)
        clock.advance(10.0)
    assert watch.take_times() == {"commit": 3.0, "marks": 0.5}
    assert watch.take_times() == {}


def test_the_begin_and_the_end_of_a_stage_are_progress_also_where_it_fails() -> None:
    progress: list[str] = []
    watch = Stopwatch(progressed=lambda: progress.append("progress"))
    with suppress(OSError), watch.measure("commit"):
        progress.append("the store refuses")
        raise OSError
    assert progress == ["progress", "the store refuses", "progress"]


def test_every_stage_is_described() -> None:
    assert list(STAGES) == ["planning", "tasks", "repeats", "commit", "marks", "other"]
    assert all(text[0].isupper() for text in STAGES.values())
