"""How long the loop waits, and for what."""

from shipper.source.scheduler import HOT_INTERVAL
from tests.lab import Lab


def test_while_the_queue_is_full_a_hot_file_does_not_keep_the_loop_busy(lab: Lab) -> None:
    lab.append("hot.log", "one\n")
    lab.append("big.log", "one\n")
    lab.start()
    lab.destination.holding = True
    lab.until(lambda: lab.running.metrics.events_read == 2)
    lab.append("hot.log", "two\n")
    lab.until(lambda: lab.running.metrics.events_read == 3, seconds=0)
    lab.append("hot.log", "three\n")
    lab.until(lambda: lab.running.metrics.events_read == 4, seconds=0.001)
    lab.append("big.log", ("x" * 99 + "\n") * 70_000)
    lab.until(lambda: lab.running.metrics.events_read > 40_000, seconds=0)
    for _ in range(10):
        lab.step(seconds=0)
    assert lab.running.metrics.events_read < 60_000
    lab.step(seconds=10 * HOT_INTERVAL, wait=0.01)
    assert lab.destination.last_timeout == 0.01


def test_an_acknowledgement_is_taken_in_also_while_files_are_read(lab: Lab) -> None:
    lab.append("a.log", "one\n")
    lab.start()
    lab.destination.holding = True
    lab.until(lambda: lab.destination.in_flight)
    lab.destination.holding = False
    lab.append("a.log", "two\n" * 100_000)
    lab.step()
    assert lab.running.metrics.events_acked > 0
