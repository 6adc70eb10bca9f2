from log_shipper.runtime.monitor.histogram import Histogram


def test_a_value_counts_for_its_bound_and_all_above_it() -> None:
    histogram = Histogram((0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 7.0):
        histogram.add(value)
    distribution = histogram.distribution()
    assert (distribution.bounds, distribution.counts, distribution.count) == ((0.1, 1.0), (2, 3, 4), 4)
    assert distribution.total == 7.65


def test_a_distribution_does_not_change_any_more() -> None:
    histogram = Histogram((1.0,))
    before = histogram.distribution()
    histogram.add(0.5)
    assert before.counts == (0, 0)
