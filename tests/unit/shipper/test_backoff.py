import pytest

from log_shipper.shipper.backoff import Backoff


@pytest.mark.parametrize(("attempts", "delay"), [(0, 1), (1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (10_000, 10)])
def test_the_wait_doubles_up_to_its_limit(attempts: int, delay: float) -> None:
    assert Backoff(1, 10).delay(attempts) == delay


def test_chance_shortens_the_wait_by_up_to_half() -> None:
    waits = {Backoff(1, 10).jittered(3) for _ in range(100)}
    assert all(2 <= wait <= 4 for wait in waits)
    assert len(waits) > 50
