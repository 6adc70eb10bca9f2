"""Files that wait for others to be closed."""

from tests.model.user_lab import UserLab


def test_a_waiting_file_starts_as_soon_as_a_place_is_free_not_at_the_next_scan(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 2, "prospector.scanner.check_interval": "24h"}
    for number in range(20):
        lab.append(f"{number:02}.log", f"{number}\n")
    lab.start()
    lab.until(lambda: len(lab.messages) == 20, seconds=0.001)
    assert len(lab.crawler.running) <= 2


def test_a_copytruncate_while_down_repeats_nothing_although_only_one_file_may_be_open(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 1}
    for name in "ab":
        lab.append(f"{name}.log", f"{name}\n" * 100)
    lab.start()
    lab.until(lambda: len(lab.messages) == 200)
    lab.stop()
    for name in "ab":  # both copies are older than what is written after the truncation, and opened first
        lab.append(f"{name}.log.1", (lab.logs / f"{name}.log").read_bytes())
    for name in "ab":
        lab.truncate(f"{name}.log")
        lab.append(f"{name}.log", "new\n")
    lab.start()
    lab.pass_time(600)
    assert lab.messages[200:] == ["new", "new"]


def test_nor_does_one_while_its_file_waits_and_is_renamed_then(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 1}
    for name in "ab":
        lab.append(f"{name}.log", f"{name}\n")
    lab.start()
    lab.until(lambda: len(lab.messages) == 2)
    lab.pass_time(600)
    for name in "ab":
        lab.copytruncate(f"{name}.log", f"{name}.log.1")
        lab.append(f"{name}.log", "new\n")
        lab.rotate(f"{name}.log", to=f"{name}.log-old")
    lab.pass_time(600)
    assert lab.messages[2:] == ["new", "new"]


def test_nor_after_its_file_had_been_moved_away(lab: UserLab) -> None:
    lab.options = {"harvester_limit": 1}
    lab.ship("a.log", "one")
    lab.pass_time(600)
    lab.rotate("a.log", to="elsewhere")
    lab.pass_time(60)
    lab.rotate("elsewhere", to="a.log")
    lab.copytruncate("a.log", "a.log.1")
    lab.append("a.log", "new\n")
    lab.pass_time(600)
    assert lab.messages == ["one", "new"]
