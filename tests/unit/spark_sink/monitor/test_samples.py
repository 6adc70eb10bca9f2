from log_shipper.spark_sink.monitor.samples import POINTS, RATE_STEPS, SMOOTH_STEPS, STEP, Sample, Samples


def rows(sample: Sample) -> int:
    return sample.rows


def sampled(*rows: int, began: float = 1000.0) -> Samples:
    samples = Samples()
    for index, count in enumerate(rows):
        samples.add(began + index * STEP, Sample(count, 2 * count))
    return samples


def test_a_rate_is_the_mean_of_ten_seconds() -> None:
    assert sampled(*[0] * 6, *[100] * 5).rate() == 10.0
    assert sampled(*[0] * 6, *[100] * 6).rate() == 0.0


def test_the_rates_of_the_chart_are_means_of_half_a_minute() -> None:
    samples = sampled(*[0] * 20, *[300] * 20)
    assert samples.rates(rows) == [None, *[0.0] * 19, *[10.0] * SMOOTH_STEPS, *[0.0] * 5]


def test_the_first_rates_are_of_what_there_is() -> None:
    assert sampled(0, 10, 10).rates(rows) == [None, 5.0, 2.5]


def test_nothing_is_known_before_the_first_sample() -> None:
    assert (Samples().rates(rows), Samples().lags(), Samples().rate()) == ([], [], None)


def test_the_last_ten_minutes_are_kept() -> None:
    samples = sampled(*range(POINTS + 50))
    assert len(samples.rates(rows)) == len(samples.lags()) == POINTS
    assert samples.lags()[-1] == 2 * (POINTS + 49)
    assert None not in samples.rates(rows), "the first one's rate needs older samples"
    assert samples.until == 1000.0 + (POINTS + 49) * STEP


def test_what_lies_in_a_pause_is_unknown() -> None:
    samples = sampled(0, 10)
    samples.add(1002.0 + 4 * STEP, Sample(50, 7))
    assert samples.lags() == [0, 20, None, None, None, 7]


def test_a_rate_over_a_pause_is_the_mean_where_both_ends_are_known() -> None:
    samples = sampled(0)
    samples.add(1000.0 + RATE_STEPS * STEP, Sample(100, 0))
    assert samples.rate() == 10.0


def test_a_clock_that_was_set_back_begins_a_new_series() -> None:
    samples = sampled(0, 10, 20)
    samples.add(500.0, Sample(30, 1))
    assert (samples.lags(), samples.rates(rows), samples.until) == ([1], [None], 500.0)


def test_a_sample_that_comes_early_clears_nothing() -> None:
    samples = sampled(0, 10)
    samples.add(1002.5, Sample(20, 40))
    assert samples.lags() == [0, 20, 40]


def test_a_pause_of_a_day_is_no_more_than_all_points() -> None:
    samples = sampled(0)
    samples.add(90_000.0, Sample(30, 1))
    assert samples.lags() == [*[None] * (POINTS - 1), 1]
