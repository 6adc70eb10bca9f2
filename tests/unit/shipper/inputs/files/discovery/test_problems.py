import pytest

from log_shipper.shipper.inputs.files.discovery.problems import FileProblems


@pytest.fixture
def problems() -> FileProblems:
    return FileProblems()


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    return caplog


def test_a_problem_of_a_file_is_logged_once(problems: FileProblems, logged: pytest.LogCaptureFixture) -> None:
    problems.of_file("/l/a.log", "cannot be opened: no right to")
    problems.of_file("/l/a.log", "cannot be opened: no right to")
    assert logged.messages == ["/l/a.log: cannot be opened: no right to"]
    assert problems.now == {"/l/a.log": "cannot be opened: no right to"}


def test_it_is_logged_again_when_it_was_solved_meanwhile(
    problems: FileProblems, logged: pytest.LogCaptureFixture
) -> None:
    problems.of_file("/l/a.log", "bad")
    problems.of_file("/l/a.log", None)
    assert problems.now == {}
    problems.of_file("/l/a.log", "bad")
    assert logged.messages == ["/l/a.log: bad"] * 2


def test_another_problem_of_the_same_file_is_logged(problems: FileProblems, logged: pytest.LogCaptureFixture) -> None:
    problems.of_file("/l/a.log", "bad")
    problems.of_file("/l/a.log", "worse")
    assert logged.messages == ["/l/a.log: bad", "/l/a.log: worse"]


def test_a_scan_logs_only_what_the_scan_before_it_did_not(
    problems: FileProblems, logged: pytest.LogCaptureFixture
) -> None:
    problems.report_scan("app", {}, {"/l/*": "matches no file"})
    problems.report_scan("app", {"/m": "is a FIFO"}, {"/l/*": "matches no file"})
    assert logged.messages == ["/l/*: matches no file", "/m: is a FIFO"]
    problems.report_scan("app", {}, {})
    assert problems.now == {}
    problems.report_scan("app", {"/m": "is a FIFO"}, {})
    assert logged.messages[2:] == ["/m: is a FIFO"]


def test_a_scan_of_one_input_does_not_change_the_problems_of_another(problems: FileProblems) -> None:
    problems.report_scan("app", {"/l": "bad"}, {})
    problems.report_scan("web", {}, {})
    problems.of_file("/f", "cannot be read")
    assert problems.now == {"/l": "bad", "/f": "cannot be read"}


def test_the_problem_of_a_missing_file_is_forgotten(problems: FileProblems) -> None:
    problems.of_file("/l/a.log", "bad")
    problems.of_file("/l/b.log", "bad")
    problems.keep({"/l/b.log"})
    assert problems.now == {"/l/b.log": "bad"}


@pytest.mark.parametrize(
    ("path", "excused"),
    [("/l/old/a.log", True), ("/l/old", True), ("/l/older/a.log", False), ("/l/a.log", False), ("/s/a.log", True)],
)
def test_what_lies_in_a_place_that_could_not_be_looked_through_is_not_missing(
    problems: FileProblems, path: str, excused: bool
) -> None:
    problems.report_scan("app", {"/l/old": "cannot be listed", "/s/": "cannot be listed"}, {})
    assert problems.is_inaccessible(path) is excused


def test_a_place_that_is_well_again_excuses_nothing(problems: FileProblems) -> None:
    problems.report_scan("app", {"/l/old": "cannot be listed"}, {})
    problems.report_scan("app", {}, {})
    problems.of_file("/l/old/a.log", "cannot be opened")
    assert not problems.is_inaccessible("/l/old/a.log")


def test_a_pattern_without_a_match_is_no_problem_of_what_exists_and_excuses_nothing(problems: FileProblems) -> None:
    problems.report_scan("app", {"/d": "cannot be listed"}, {"/l/a.log": "matches no file"})
    assert problems.now == {"/d": "cannot be listed", "/l/a.log": "matches no file"}
    assert problems.unreadable == {"/d": "cannot be listed"}
    assert not problems.is_inaccessible("/l/a.log")


def test_what_was_wrong_with_the_paths_of_an_input_goes_with_it(problems: FileProblems) -> None:
    problems.report_scan("removed", {}, {"/g/*.log": "matches no file"})
    problems.report_scan("here", {}, {"/h/*.log": "matches no file"})
    problems.forget_scans({"removed", "never read"})
    assert problems.now == {"/h/*.log": "matches no file"}
    assert not problems.is_inaccessible("/g/*.log")


def test_a_file_that_can_be_opened_again_and_again_and_not_be_read_is_logged_once(
    problems: FileProblems, logged: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        problems.of_file("/l/a.log", None)
        problems.report_read("/l/a.log", "cannot be read at offset 4")
    assert logged.messages == ["/l/a.log: cannot be read at offset 4"]
    assert problems.now == {"/l/a.log": "cannot be read at offset 4"}
    problems.report_read("/l/a.log", None)
    assert problems.now == {}
    problems.report_read("/l/a.log", "cannot be read at offset 4")
    assert len(logged.messages) == 2
    problems.keep({"/l/b.log"})
    assert problems.now == {}
