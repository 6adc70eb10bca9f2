"""How long the loop waits, and for what."""

from tests.lab import Lab


def fill_queue(lab: Lab) -> None:
    """A file that is written to all the time, and a destination that takes nothing."""
    lab.append("a.log", "one\n")
    lab.start()
    lab.destination.holding = True
    while lab.running.loop.queue_has_room:
        lab.append("a.log", ("x" * 99 + "\n") * 10_000)
        lab.step(seconds=0.001, wait=0.0)


def test_while_the_queue_is_full_a_hot_file_does_not_keep_the_loop_busy(lab: Lab) -> None:
    fill_queue(lab)
    for _ in range(10):
        lab.step(wait=0.01)
    lab.destination.waits.clear()
    lab.step(wait=0.01)
    assert max(lab.destination.waits) > 0
