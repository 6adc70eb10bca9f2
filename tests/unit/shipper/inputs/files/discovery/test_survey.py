import os
from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from log_shipper.shipper.inputs.files.discovery.problems import FileProblems
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import FileKey, InputSpec
from log_shipper.shipper.inputs.files.discovery.survey import (
    DELETIONS_PAUSE,
    FULL_SCAN_EVERY,
    MIN_PAUSE,
    NEVER,
    Survey,
)
from log_shipper.shipper.inputs.files.discovery.watch import Watcher
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import InputConfig, ProspectorConfig, ScannerConfig
from tests.builders import Surroundings, source_context
from tests.fakes import ManualClock
from tests.reading_room import Books
from tests.watches import Watches


class Outlook:
    """A survey of inputs that name `folder` differently."""

    def __init__(self, folder: Path, clock: ManualClock, inputs: dict[str, float], *, once: bool) -> None:
        """Take `inputs`: seconds between two scans, by pattern."""
        self.folder = folder
        self.clock = clock
        self.watches = Watches()
        self.problems = FileProblems()
        self.inputs = {
            pattern: InputSpec(
                InputConfig(
                    id=pattern,
                    paths=(f"{folder}/{pattern}",),
                    prospector=ProspectorConfig(scanner=ScannerConfig(check_interval=interval)),
                )
            )
            for pattern, interval in inputs.items()
        }
        watcher = cast("Watcher", self.watches)
        self.progress: list[None] = []
        self.metrics = Metrics()
        around = Surroundings()
        around.beat = partial(self.progress.append, None)  # type: ignore[method-assign]
        context = source_context(Books(), clock, self.metrics, once=once, around=around)
        self.survey = Survey(list(self.inputs.values()), watcher, self.problems, context)

    def write(self, name: str, content: bytes = b"one\n") -> FileKey:
        """Return the key that the first input has the file under."""
        path = self.folder / name
        path.write_bytes(content)
        pattern = next(pattern for pattern in self.inputs if fnmatch(name, pattern))
        return pattern, path.stat().st_dev, path.stat().st_ino

    def step(self, after: float = 0.0) -> bool:
        self.clock.advance(after)
        scanned = self.survey.step()
        if scanned:
            self.survey.pause()
        return scanned

    @property
    def names(self) -> list[str]:
        return sorted(os.path.basename(scanned.path) for _, scanned, _ in self.survey.candidates.values())

    def size_of(self, key: FileKey) -> int:
        return self.survey.candidates[key].file.size


MakeOutlook = Callable[..., Outlook]


@pytest.fixture
def make_outlook(tmp_path: Path, clock: ManualClock) -> MakeOutlook:
    def make(*, once: bool = False, **inputs: float) -> Outlook:
        return Outlook(tmp_path, clock, {f"*.{ending}": interval for ending, interval in inputs.items()}, once=once)

    return make


@pytest.fixture
def outlook(make_outlook: MakeOutlook) -> Outlook:
    return make_outlook(log=10.0)


def test_the_first_scan_is_due_at_once_and_the_next_in_time(outlook: Outlook) -> None:
    outlook.write("a.log")
    assert outlook.step()
    assert outlook.names == ["a.log"]
    assert outlook.survey.next_step == outlook.clock.monotonic() + 10
    outlook.write("b.log")
    assert not outlook.step(after=9.9)
    assert outlook.names == ["a.log"]
    assert outlook.step(after=0.1)
    assert outlook.names == ["a.log", "b.log"]


def test_a_file_that_was_removed_is_not_found_any_more(outlook: Outlook) -> None:
    outlook.write("a.log")
    outlook.step()
    (outlook.folder / "a.log").unlink()
    outlook.step(after=10)
    assert outlook.survey.candidates == {}


def test_each_input_has_its_own_time(make_outlook: MakeOutlook) -> None:
    outlook = make_outlook(log=10.0, txt=60.0)
    outlook.step()
    outlook.write("a.log")
    outlook.write("a.txt")
    outlook.step(after=10)
    assert outlook.names == ["a.log"]
    outlook.step(after=50)
    assert outlook.names == ["a.log", "a.txt"]


def test_an_input_that_comes_later_is_scanned_together_with_the_others(tmp_path: Path, clock: ManualClock) -> None:
    """Else thousands of inputs that came one after the other would each have a scan of its own."""
    outlook = Outlook(tmp_path, clock, {"*.log": 10.0, "*.txt": 10.0}, once=False)
    first, second = outlook.inputs.values()
    outlook.survey.replace([first])
    outlook.step()
    outlook.survey.replace([first, second])
    assert outlook.step(after=4)
    outlook.write("a.log")
    outlook.write("a.txt")
    assert not outlook.step(after=5.9)
    assert outlook.step(after=0.1)
    assert outlook.names == ["a.log", "a.txt"]
    assert outlook.survey.next_step == clock.monotonic() + 10


def test_a_hint_makes_a_scan_of_all_inputs_before_their_time(make_outlook: MakeOutlook) -> None:
    outlook = make_outlook(log=10.0, txt=60.0)
    outlook.step()
    outlook.write("a.log")
    outlook.write("a.txt")
    outlook.watches.wants_scan = True
    assert outlook.step(after=1)
    assert outlook.names == ["a.log", "a.txt"]
    assert not outlook.survey.wants_scan


def test_hints_that_come_all_the_time_do_not_make_scans_all_the_time(outlook: Outlook) -> None:
    outlook.step()
    outlook.watches.wants_scan = True
    assert not outlook.step(after=MIN_PAUSE * 0.9)
    assert outlook.survey.wants_scan
    assert outlook.survey.next_step == pytest.approx(outlook.clock.monotonic() + MIN_PAUSE * 0.1)
    assert outlook.step(after=MIN_PAUSE * 0.2)


def test_the_pause_is_ten_times_the_cpu_time_of_the_scan(outlook: Outlook) -> None:
    outlook.watches.on_directory = lambda: outlook.clock.work(0.1)
    outlook.step()
    outlook.watches.on_directory = lambda: None
    outlook.watches.wants_scan = True
    assert not outlook.step(after=0.99)
    assert outlook.step(after=0.02)


def test_where_others_have_the_processor_the_pause_is_as_long_as_the_scan_took(outlook: Outlook) -> None:
    outlook.watches.on_directory = lambda: outlook.clock.advance(0.1)
    outlook.step()
    outlook.watches.on_directory = lambda: None
    outlook.watches.wants_scan = True
    assert not outlook.step(after=0.09)
    assert outlook.step(after=0.02)


def test_haste_scans_without_a_pause(outlook: Outlook) -> None:
    outlook.step()
    outlook.write("a.log")
    outlook.watches.wants_scan = True
    outlook.survey.scan_now()
    assert (outlook.names, outlook.survey.wants_scan) == (["a.log"], False)


def test_a_scan_does_not_look_again_at_files_it_knows(outlook: Outlook) -> None:
    key = outlook.write("a.log")
    outlook.step()
    outlook.write("a.log", b"one\ntwo\n")
    outlook.step(after=10)
    assert outlook.size_of(key) == 4
    assert not outlook.survey.was_full_scan


def test_every_few_minutes_a_scan_is_full(outlook: Outlook) -> None:
    key = outlook.write("a.log")
    outlook.step()
    outlook.write("a.log", b"one\ntwo\n")
    outlook.step(after=FULL_SCAN_EVERY)
    assert (outlook.size_of(key), outlook.survey.was_full_scan) == (8, True)
    outlook.step(after=10)
    assert not outlook.survey.was_full_scan


def test_everything_means_every_input(make_outlook: MakeOutlook) -> None:
    outlook = make_outlook(log=10.0, txt=100_000.0)
    key = outlook.write("a.txt")
    outlook.step()
    outlook.write("a.txt", b"one\ntwo\n")
    outlook.step(after=FULL_SCAN_EVERY)
    assert outlook.size_of(key) == 8


def test_lost_events_make_it_look_at_everything(outlook: Outlook) -> None:
    key = outlook.write("a.log")
    outlook.step()
    outlook.write("a.log", b"one\ntwo\n")
    outlook.watches.lost_events = outlook.watches.wants_scan = True
    outlook.step(after=1)
    assert (outlook.size_of(key), outlook.survey.was_full_scan) == (8, True)
    assert not outlook.watches.lost_events


def test_a_scan_that_cannot_wait_does_not_make_up_for_lost_events(outlook: Outlook) -> None:
    outlook.step()
    outlook.watches.lost_events = True
    outlook.survey.scan_now()
    assert outlook.survey.wants_scan
    outlook.step(after=1)
    assert (outlook.survey.was_full_scan, outlook.watches.lost_events) == (True, False)


def test_looking_again_sees_a_file_as_it_is_now(outlook: Outlook) -> None:
    key = outlook.write("a.log")
    outlook.step()
    outlook.write("a.log", b"one\ntwo\n")
    outlook.survey.look_again([key, ("a.*", 0, 0)])
    assert outlook.size_of(key) == 8
    assert outlook.survey.candidates[key].file.modified == (outlook.folder / "a.log").stat().st_mtime
    assert not outlook.survey.wants_scan


def test_each_file_that_is_looked_at_again_is_progress(outlook: Outlook) -> None:
    keys = [outlook.write(f"{number}.log") for number in range(3)]
    outlook.step()
    assert len(outlook.progress) > len(keys), "the directory was listed and watched, and the files were looked at"
    outlook.progress.clear()
    outlook.survey.look_again(keys)
    assert len(outlook.progress) == len(keys)


def test_what_was_seen_since_is_not_replaced_by_an_older_listing(outlook: Outlook) -> None:
    key = outlook.write("a.log")
    outlook.step()
    outlook.write("a.log", b"one\ntwo\n")
    outlook.survey.look_again([key])
    outlook.write("b.log")
    outlook.step(after=10)
    assert (outlook.names, outlook.size_of(key)) == (["a.log", "b.log"], 8)


def test_a_listing_of_a_renamed_file_is_newer_than_what_was_seen(outlook: Outlook) -> None:
    key = outlook.write("a.log")
    outlook.step()
    outlook.survey.look_again([key])
    (outlook.folder / "a.log").rename(outlook.folder / "b.log")
    outlook.step(after=10)
    assert outlook.names == ["b.log"]


@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_is_not_at_its_path_any_more_asks_for_a_scan(outlook: Outlook, replaced: bool) -> None:
    key = outlook.write("a.log")
    outlook.step()
    (outlook.folder / "a.log").rename(outlook.folder / "a.old")
    if replaced:
        outlook.write("a.log", b"another\n")
    outlook.survey.look_again([key])
    assert (outlook.survey.wants_scan, outlook.size_of(key)) == (True, 4)


def test_each_of_several_inputs_that_name_a_file_has_it(tmp_path: Path, clock: ManualClock) -> None:
    outlook = Outlook(tmp_path, clock, {"a.*": 10.0, "*.log": 10.0}, once=False)
    _, device, inode = outlook.write("a.log")
    outlook.step()
    keys = [(pattern, device, inode) for pattern in outlook.inputs]
    assert [outlook.survey.candidates[key].spec for key in keys] == list(outlook.inputs.values())
    assert list(outlook.survey.candidates) == list(outlook.survey.present.values()) == keys


def test_present_gives_the_file_of_each_path(outlook: Outlook) -> None:
    key = outlook.write("a.log")
    outlook.step()
    assert outlook.survey.present == {(key[0], f"{outlook.folder}/a.log"): key}


def test_directories_are_watched(outlook: Outlook) -> None:
    outlook.watches.directories.add("/of/no/interest")
    outlook.step()
    assert outlook.watches.directories == {str(outlook.folder)}


def test_watches_of_directories_are_asked_for_once(outlook: Outlook) -> None:
    """With ten thousand of them, asking at every scan would be most of what an idle agent does."""
    outlook.write("a.log")
    outlook.step()
    asked: list[None] = []
    outlook.watches.on_directory = lambda: asked.append(None)
    outlook.step(after=10)
    outlook.step(after=10)
    assert asked == []
    outlook.watches.directories.clear()
    outlook.step(after=10)
    assert len(asked) == 1


def test_files_that_were_missed_are_counted_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    outlook = Outlook(tmp_path, ManualClock(), {"app.log": 10.0, "app.*": 10.0}, once=False)
    outlook.write("app.log")
    outlook.step()
    outlook.watches.hints = {(str(tmp_path), "app.log"): 3}
    outlook.watches.wants_scan = True
    outlook.step(after=1)
    assert outlook.metrics.files_missed == 2
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith(f"files were replaced before they were read: {tmp_path}/app.log: 2 appeared and")


def test_a_file_that_was_rotated_before_it_was_seen_and_is_in_the_paths_is_not_missed(
    tmp_path: Path, clock: ManualClock
) -> None:
    outlook = Outlook(tmp_path, clock, {"app.log": 10.0, "app.log.?": 10.0}, once=False)
    outlook.write("app.log")
    outlook.step()
    (tmp_path / "app.log").rename(tmp_path / "app.log.2")
    outlook.write("app.log.1")
    outlook.write("app.log")
    outlook.watches.hints = {(str(tmp_path), "app.log"): 2}
    outlook.watches.wants_scan = True
    outlook.step(after=1)
    assert (outlook.names, outlook.metrics.files_missed) == (["app.log", "app.log.1", "app.log.2"], 0)


def test_a_hint_at_the_end_of_a_link_looks_there_alone_and_leaves_the_next_scan_in_its_time(
    tmp_path: Path, clock: ManualClock
) -> None:
    outlook = Outlook(tmp_path, clock, {"one.log": 10.0, "two.log": 10.0}, once=False)
    keys = [outlook.write("one.log"), outlook.write("two.log")]
    outlook.step()
    for name in ("one.log", "two.log"):
        (tmp_path / name).rename(tmp_path / f"{name}.1")
        outlook.write(name)
    outlook.watches.hints = {(str(tmp_path), "one.log"): 1}
    outlook.watches.wants_scan = True
    outlook.step(after=1)
    assert [key in outlook.survey.candidates for key in keys] == [False, True]
    assert outlook.step(after=9)
    assert [key in outlook.survey.candidates for key in keys] == [False, False]


CONTAINERS = [f"*-{number:032d}.log" for number in range(3)]


def crowd(folder: Path, clock: ManualClock, first: float = 10.0) -> Outlook:
    """Return a survey of inputs as containers have them, which has looked for their files before there were any."""
    outlook = Outlook(folder, clock, dict.fromkeys(CONTAINERS, 10.0) | {CONTAINERS[0]: first}, once=False)
    outlook.step()
    for pattern in CONTAINERS:
        outlook.write(pattern.replace("*", "web"))
    return outlook


def test_a_hint_asks_for_a_scan_of_the_inputs_that_search_this_name(tmp_path: Path, clock: ManualClock) -> None:
    """With an input for each of a thousand containers, a scan of all for each that ends takes most of the agent."""
    outlook = crowd(tmp_path, clock)
    outlook.watches.hints = {(str(tmp_path), CONTAINERS[1].replace("*", "web")): 1}
    outlook.watches.wants_scan = True
    assert outlook.step(after=1)
    assert outlook.names == [CONTAINERS[1].replace("*", "web")]
    assert outlook.step(after=9)
    assert len(outlook.names) == 3, "each in its time"


def test_a_hint_about_a_name_that_no_input_searches_asks_for_no_scan(tmp_path: Path, clock: ManualClock) -> None:
    outlook = crowd(tmp_path, clock)
    outlook.watches.hints = {(str(tmp_path), "web-other.log"): 1}
    outlook.watches.wants_scan = True
    assert not outlook.step(after=1)
    assert not outlook.survey.wants_scan
    assert outlook.step(after=9)


def test_files_that_are_deleted_one_after_the_other_share_a_scan(outlook: Outlook) -> None:
    outlook.watches.only_deletions = True
    outlook.step(after=1)
    for seconds, is_scanned in ((0.1, True), (0.5, False), (0.6, True), (DELETIONS_PAUSE, True)):
        outlook.watches.hints = {(str(outlook.folder), "a.log"): 0}
        outlook.watches.wants_scan = True
        assert outlook.step(after=seconds) is is_scanned
        assert outlook.survey.wants_scan is not is_scanned
    outlook.watches.only_deletions = False
    outlook.watches.hints = {(str(outlook.folder), "a.log"): 0}
    outlook.watches.wants_scan = True
    assert outlook.step(after=0.1), "another file may be there by now"


def test_inputs_whose_time_has_come_are_scanned_beside_those_with_a_hint(tmp_path: Path, clock: ManualClock) -> None:
    outlook = crowd(tmp_path, clock, first=2.0)
    outlook.watches.hints = {(str(tmp_path), CONTAINERS[1].replace("*", "web")): 1}
    outlook.watches.wants_scan = True
    assert outlook.step(after=2)
    assert outlook.names == [pattern.replace("*", "web") for pattern in CONTAINERS[:2]]


def test_problems_of_a_scan_are_reported(outlook: Outlook) -> None:
    outlook.step()
    assert outlook.problems.now == {f"{outlook.folder}/*.log": "matches no file"}
    outlook.write("a.log")
    outlook.step(after=10)
    assert outlook.problems.now == {}


def test_a_pattern_that_had_a_match_is_reported_once_the_time_between_two_scans_is_over(outlook: Outlook) -> None:
    """A rotation renames the file, and creates the next one a little later."""
    for number in range(3):
        outlook.write("a.log")
        outlook.step(after=10)
        (outlook.folder / "a.log").rename(outlook.folder / f"{number}")
        outlook.watches.wants_scan = True
        outlook.step(after=1)
        assert outlook.problems.now == {}
    outlook.step(after=10)
    assert outlook.problems.now == {f"{outlook.folder}/*.log": "matches no file"}


def test_problems_of_files_that_went_are_forgotten(outlook: Outlook) -> None:
    outlook.write("a.log")
    outlook.write("b.log")
    outlook.step()
    outlook.problems.of_file(f"{outlook.folder}/a.log", "bad")
    (outlook.folder / "a.log").unlink()
    outlook.step(after=10)
    assert outlook.problems.now == {}


def test_with_once_there_is_one_scan_and_no_watch(make_outlook: MakeOutlook) -> None:
    outlook = make_outlook(once=True, log=10.0)
    outlook.write("a.log")
    assert not outlook.survey.done
    outlook.step()
    assert (outlook.survey.done, outlook.survey.next_step, outlook.names) == (True, NEVER, ["a.log"])
    assert not outlook.step(after=100)
    assert outlook.watches.directories == set()


def test_without_once_it_is_never_done(outlook: Outlook) -> None:
    outlook.step()
    assert not outlook.survey.done


def test_what_a_survey_has_can_be_distinguished_from_what_it_had(outlook: Outlook) -> None:
    """The same object means that the file was not inspected since."""
    key = outlook.write("a.log")
    outlook.step()
    before: ScannedFile = outlook.survey.candidates[key].file
    outlook.write("b.log")
    outlook.step(after=10)
    assert outlook.survey.candidates[key].file is before
    outlook.survey.look_again([key])
    assert outlook.survey.candidates[key].file is not before
    assert outlook.survey.candidates[key].file == replace(before)


def test_of_other_inputs_those_that_stay_are_not_looked_through_again(tmp_path: Path, clock: ManualClock) -> None:
    outlook = Outlook(tmp_path, clock, {"a*": 100.0, "b*": 100.0}, once=False)
    outlook.write("a1")
    key = outlook.write("b1")
    assert outlook.step()
    a, b = outlook.inputs.values()
    scanner, scanned = outlook.survey._scanners[b], outlook.survey.candidates[key]
    outlook.survey.replace([b])
    assert outlook.names == ["a1", "b1"], "until it is time to look"
    outlook.survey.scan_now()
    assert outlook.names == ["b1"]
    assert outlook.survey.candidates[key] is scanned
    assert outlook.survey._scanners == {b: scanner}
    outlook.survey.replace([a, b])
    outlook.survey.scan_now()
    assert outlook.names == ["a1", "b1"]
