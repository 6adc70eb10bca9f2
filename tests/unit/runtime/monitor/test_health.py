from log_shipper.runtime.monitor.health import Health, State, StateClock


def test_a_state_begins_when_it_is_first_seen_and_lasts_whatever_its_words_are() -> None:
    clock = StateClock()
    judged: list[tuple[State, str]] = [
        ("ok", "a"),
        ("degraded", "a"),
        ("degraded", "b"),
        ("ok", "a"),
        ("degraded", "a"),
    ]
    seen = [clock.timed(Health(*health), float(now)).since for now, health in enumerate(judged)]
    assert seen == [0.0, 1.0, 1.0, 3.0, 4.0]
