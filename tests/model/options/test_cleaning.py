"""When the registry forgets a file."""

import pytest

from log_shipper.registry.load import read
from tests.model.user_lab import HOUR, UserLab


@pytest.fixture
def cleaning(lab: UserLab) -> UserLab:
    """Return a Lab with `clean_inactive`, whose agent has shipped a line that was written now."""
    lab.options = {"ignore_older": "1h", "clean_inactive": "2h"}
    lab.append("a.log", "one\n")
    lab.date("a.log")
    lab.start()
    lab.until_messages("one")
    return lab


def test_clean_inactive_forgets_a_file_in_the_registry_and_no_line_of_it_is_sent_again(cleaning: UserLab) -> None:
    cleaning.pass_time(1.5 * HOUR)
    assert len(cleaning.saved()) == 1
    cleaning.start()
    cleaning.pass_time(HOUR)
    assert cleaning.saved() == []
    cleaning.start()
    cleaning.pass_time(600)
    assert cleaning.messages == ["one"]


def test_a_file_that_clean_inactive_forgot_resumes_with_new_data_while_the_agent_runs(cleaning: UserLab) -> None:
    cleaning.pass_time(3 * HOUR)
    cleaning.wait_until(lambda: read(cleaning.data / "registry") == {}, seconds=0.0005)
    cleaning.append("a.log", "two\n")
    cleaning.date("a.log")
    cleaning.until_messages("one", "two")
    (state,) = cleaning.saved()
    assert state.position == 8
    cleaning.start()
    cleaning.pass_time(600)
    assert cleaning.messages == ["one", "two"]


def test_a_file_that_clean_inactive_forgot_and_that_is_written_to_while_the_agent_is_down_is_sent_again(
    cleaning: UserLab,
) -> None:
    """Its entry is deleted as configured, so the agent cannot know what was shipped; and no line may be lost."""
    cleaning.pass_time(3 * HOUR)
    cleaning.stop()
    cleaning.append("a.log", "two\n")
    cleaning.date("a.log")
    cleaning.start()
    cleaning.until_messages("one", "one", "two")
    assert len(cleaning.file_ids) == 2


@pytest.mark.parametrize("cleans", [True, False])
def test_the_entry_of_a_deleted_file_is_forgotten_after_24_hours_with_clean_removed(lab: UserLab, cleans: bool) -> None:
    lab.options = {"clean_removed": cleans}
    lab.ship("a.log", "one")
    lab.remove("a.log")
    lab.pass_time(30)
    lab.pass_time(23 * HOUR)
    (state,) = lab.saved()
    assert state.ended == "removed"
    lab.start()
    lab.pass_time(2 * HOUR)
    assert len(lab.saved()) == (0 if cleans else 1)
