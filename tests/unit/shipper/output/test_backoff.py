import pytest

from shipper.output.kafka import Backoff


@pytest.mark.parametrize(("attempts", "delay"), [(0, 1), (1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (10_000, 10)])
def test_the_wait_doubles_up_to_its_limit(attempts: int, delay: float) -> None:
    assert Backoff(1, 10).delay(attempts) == delay
