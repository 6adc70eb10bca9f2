from log_shipper.runtime.logs.throttle import Throttle


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_first_line_is_logged_and_the_next_a_minute_later_with_the_count_of_those_between() -> None:
    time = Time()
    throttle = Throttle(time)
    assert throttle.is_due()
    assert throttle.suppressed == 0
    assert [throttle.is_due() for _ in range(3)] == [False] * 3
    time.now += 59.9
    assert not throttle.is_due()
    time.now += 0.1
    assert throttle.is_due()
    assert throttle.suppressed == 4
    time.now += 60
    assert throttle.is_due()
    assert throttle.suppressed == 0


def test_trouble_that_was_over_is_logged_at_once_when_it_is_back() -> None:
    throttle = Throttle(Time())
    assert throttle.is_due()
    assert not throttle.is_due()
    throttle.reset()
    assert throttle.is_due()
    assert throttle.suppressed == 0
