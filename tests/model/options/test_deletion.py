"""When the agent deletes what it has read."""

import pytest

from log_shipper.registry.load import read
from tests.capabilities import without_capabilities
from tests.model.user_lab import HOUR, UserLab, pack

DELETING = {"delete.enabled": True, "delete.grace_period": "30m", "close.on_state_change.inactive": "1m"}


def until_deleted(lab: UserLab, name: str) -> None:
    """Hardly any time of the lab's clock passes; but the position is saved first, by a thread."""
    lab.wait_until(lambda: not (lab.logs / name).exists(), seconds=0.01)


def test_delete_removes_a_file_after_the_grace_period_and_not_before(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    lab.options = DELETING
    lab.ship("a.log", "one")
    lab.pass_time(29 * 60)
    assert (lab.logs / "a.log").exists()
    lab.pass_time(3 * 60)
    until_deleted(lab, "a.log")
    assert any("deleted; all of it was acknowledged" in line for line in caplog.messages)


def test_delete_leaves_a_file_that_grew_and_removes_it_after_a_new_grace_period(lab: UserLab) -> None:
    lab.options = DELETING
    lab.ship("a.log", "one")
    lab.pass_time(20 * 60)
    lab.append("a.log", "two\n")
    lab.until_messages("one", "two")
    lab.pass_time(20 * 60)
    assert (lab.logs / "a.log").exists()
    lab.pass_time(12 * 60)
    until_deleted(lab, "a.log")


def test_delete_never_removes_what_is_not_acknowledged(lab: UserLab) -> None:
    lab.options = DELETING
    lab.start()
    lab.destination.holding = True
    lab.append("a.log", "one\n")
    lab.wait_until(lambda: lab.destination.in_flight)
    lab.pass_time(HOUR)
    assert (lab.logs / "a.log").exists()
    lab.destination.holding = False
    lab.pass_time(HOUR)
    until_deleted(lab, "a.log")
    assert lab.messages == ["one"]


def test_delete_leaves_a_file_whose_last_line_is_not_whole(lab: UserLab) -> None:
    lab.options = DELETING
    lab.append("a.log", "one\nhalf")
    lab.start()
    lab.until_messages("one")
    lab.pass_time(2 * HOUR)
    assert (lab.logs / "a.log").exists()
    lab.append("a.log", " line\n")
    lab.until_messages("one", "half line")
    lab.pass_time(HOUR)
    until_deleted(lab, "a.log")


def test_delete_removes_what_an_earlier_agent_has_read(lab: UserLab) -> None:
    lab.options = DELETING
    lab.ship("a.log", "one")
    lab.pass_time(600)
    lab.stop()
    lab.start()
    lab.pass_time(2 * HOUR)
    until_deleted(lab, "a.log")


def test_a_refused_delete_is_logged_with_the_file_and_tried_again(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.options = DELETING
    lab.ship("a.log", "one")
    lab.logs.chmod(0o555)
    with without_capabilities():
        lab.pass_time(HOUR)
    lab.logs.chmod(0o755)
    assert (lab.logs / "a.log").exists()
    assert f"{lab.logs}/a.log: cannot be deleted (delete.enabled): Permission denied" in "\n".join(caplog.messages)
    lab.pass_time(120)
    until_deleted(lab, "a.log")


def test_delete_removes_a_compressed_file_that_was_read_to_its_end(lab: UserLab) -> None:
    lab.options = {**DELETING, "compression": "auto"}
    pack(lab, "a.log.gz", b"one\n")
    lab.start()
    lab.until_messages("one")
    lab.pass_time(HOUR)
    until_deleted(lab, "a.log.gz")


def test_delete_leaves_what_ignore_older_left_out_because_it_was_not_read(lab: UserLab) -> None:
    lab.options = DELETING | {"ignore_older": "2h"}
    lab.append("a.log", "old\n")
    lab.date("a.log", ago=3 * HOUR)
    lab.start()
    lab.pass_time(2 * HOUR)
    assert (lab.messages, (lab.logs / "a.log").exists()) == ([], True)


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_kill_while_a_file_is_deleted_leaves_it_its_name(
    lab: UserLab, is_taken: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """It is renamed before it is removed."""
    lab.options = DELETING
    lab.ship("a.log", "one")
    lab.stop()
    (state,) = read(lab.data / "registry").values()
    aside = f".shipper-deleting-{state.id}"
    lab.rotate("a.log", to=aside)
    if is_taken:
        lab.append("a.log", "two\n")
    lab.start()
    assert (lab.logs / aside).exists() is is_taken
    assert ("could not restore its original name" in caplog.text) is is_taken
    lab.append("a.log", "three\n")
    lab.until_messages("one", *["two"] * is_taken, "three")
    lab.pass_time(2 * HOUR)
    until_deleted(lab, "a.log")
