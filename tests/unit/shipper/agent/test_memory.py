"""What a burst has left in memory."""

from log_shipper.shipper.agent.memory import BURST, BURST_INTERVAL, FreedMemory
from log_shipper.shipper.metrics import Metrics
from tests.fakes import ManualClock


def test_freed_memory_is_returned_once_after_a_burst(clock: ManualClock) -> None:
    metrics, returned = Metrics(), []
    memory = FreedMemory(metrics, clock, lambda: returned.append(metrics.bytes_read))
    for grown in (1000, BURST, BURST, 1000, 1000, BURST, 0):
        metrics.bytes_read += grown
        clock.advance(BURST_INTERVAL)
        memory.step()
    assert returned == [2 * BURST + 2000, 3 * BURST + 3000]


def test_a_pause_within_a_burst_returns_nothing(clock: ManualClock) -> None:
    metrics, returned = Metrics(), []
    memory = FreedMemory(metrics, clock, lambda: returned.append(metrics.bytes_read))
    metrics.bytes_read = BURST
    clock.advance(BURST_INTERVAL)
    memory.step()
    clock.advance(BURST_INTERVAL * 0.9)
    memory.step()
    assert not returned
