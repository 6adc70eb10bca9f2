from dataclasses import replace

from log_shipper.shipper.monitor.series import CHARTS, POINTS, Rates, Series
from log_shipper.shipper.monitor.snapshot import Snapshot
from tests.snapshots import WELL, later


def read(snapshot: Snapshot, seconds: float, events: int) -> Snapshot:
    metrics = replace(snapshot.metrics, events_read=snapshot.metrics.events_read + events)
    return later(snapshot, seconds, metrics=metrics)


def test_a_point_is_two_seconds_and_a_rate_is_of_both() -> None:
    series, snapshot = Series(), WELL
    series.add(snapshot)
    for events in (10, 30, 100):
        snapshot = read(snapshot, 1.0, events)
        series.add(snapshot)
    assert series.values()["events", "read"] == [20.0]
    assert series.until == WELL.time + 2


def test_the_last_ten_minutes_are_kept() -> None:
    series, snapshot = Series(), WELL
    series.add(snapshot)
    for number in range(POINTS + 50):
        snapshot = later(snapshot, 2.0, behind=number)
        series.add(snapshot)
    values = series.values()["lag", "lag"]
    assert (len(values), values[0], values[-1]) == (POINTS, 50, POINTS + 49)


def test_a_time_without_snapshots_is_unknown() -> None:
    series = Series()
    series.add(WELL)
    series.add(later(WELL, 7.0, behind=3))
    assert series.values()["lag", "lag"] == [None, None, 3]


def test_all_lines_are_equally_long() -> None:
    series = Series()
    assert {len(values) for values in series.values().values()} == {0}
    assert series.values().keys() == {(chart.id, line.id) for chart in CHARTS for line in chart.lines}


def test_a_rate_is_of_the_last_ten_seconds() -> None:
    rates, snapshot = Rates(), WELL
    assert rates.rate_of(lambda taken: taken.metrics.events_read) is None
    for _ in range(20):
        snapshot = read(snapshot, 1.0, 1000)
        rates.add(snapshot)
    for _ in range(5):
        snapshot = read(snapshot, 1.0, 0)
        rates.add(snapshot)
    assert rates.rate_of(lambda taken: taken.metrics.events_read) == 500.0
