from log_shipper.shipper.event import Doc
from log_shipper.shipper.metrics import Metrics
from tests.fakes import ManualClock
from tests.processing import batch_of, chain_of


class Limit:
    """A chain with one rate_limit, and its clock."""

    def __init__(self, config: str) -> None:
        self.clock, self.metrics = ManualClock(), Metrics()
        self.chain = chain_of(f"- rate_limit: {config}", self.metrics, self.clock)

    def pass_(self, *docs: Doc, static: Doc | None = None) -> list[str]:
        batch = batch_of(docs, static)
        self.chain(batch)
        return batch.messages.texts

    def count(self, events: int) -> int:
        return len(self.pass_(*({"message": "x"} for _ in range(events))))


def test_as_many_pass_as_the_limit_says_and_the_rest_is_dropped() -> None:
    limit = Limit("{limit: 10/s}")
    assert limit.pass_(*({"message": str(number)} for number in range(12))) == [str(number) for number in range(10)]
    assert limit.metrics.events_filtered == 2
    assert limit.count(3) == 0


def test_room_comes_back_with_time_and_no_more_than_the_limit() -> None:
    limit = Limit("{limit: 10/s}")
    limit.count(10)
    limit.clock.advance(0.375)
    assert limit.count(9) == 3
    limit.clock.advance(0.125)
    assert limit.count(9) == 2
    limit.clock.advance(3600)
    assert limit.count(99) == 10


def test_units_are_seconds_minutes_and_hours() -> None:
    for text, seconds in (("6/s", 1), ("6 / m", 60), ("6/h", 3600)):
        limit = Limit(f"{{limit: {text}}}")
        assert limit.count(9) == 6
        limit.clock.advance(seconds / 2)
        assert limit.count(9) == 3


def test_a_rate_below_one_lets_one_pass_after_a_while() -> None:
    limit = Limit("{limit: 0.5/s}")
    assert limit.count(1) == 0
    limit.clock.advance(1)
    assert limit.count(2) == 1
    limit.clock.advance(60)
    assert limit.count(2) == 1


def test_a_burst_may_be_larger_than_the_rate() -> None:
    limit = Limit("{limit: 2/s, algorithm.token_bucket.burst_multiplier: 3}")
    assert limit.count(9) == 6
    limit.clock.advance(1)
    assert limit.count(9) == 2


def test_each_combination_of_values_has_a_limit_of_its_own() -> None:
    limit = Limit("{limit: 1/m, fields: [user, n]}")
    docs: list[Doc] = [
        {"user": "a", "n": 1},
        {"user": "a", "n": 2},
        {"user": "a", "n": 1},
        {"user": "b"},
        {"n": 2},
        {"user": "b"},
    ]
    assert limit.pass_(*({"message": str(index), **doc} for index, doc in enumerate(docs))) == ["0", "1", "3", "4"]


def test_values_that_a_file_has_are_looked_at_once() -> None:
    limit = Limit("{limit: 2/m, fields: [host.name, env]}")
    three = [{"message": "x"}] * 3
    assert len(limit.pass_(*three, static={"env": "a"})) == 2
    assert len(limit.pass_(*three, static={"env": "a"})) == 0
    assert len(limit.pass_(*three, static={"env": "b"})) == 2


def test_full_buckets_are_let_go() -> None:
    limit = Limit("{limit: 1/s, fields: [n], algorithm.token_bucket.gc.num_calls: 100}")
    (step,) = limit.chain._steps
    for number in range(100):
        limit.pass_({"message": "x", "n": number})
        limit.clock.advance(0.5)
    assert len(step._buckets) < 5
    assert limit.pass_({"message": "x", "n": 99}) == []


def test_limits_of_two_inputs_are_apart() -> None:
    first, second = Limit("{limit: 1/h}"), Limit("{limit: 1/h}")
    assert (first.count(2), second.count(2)) == (1, 1)
