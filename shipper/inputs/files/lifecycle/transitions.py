"""What becomes of a file, whatever is seen of it: its whole life as one table, and the function that decides it.

The states are those of files.py; Reading is a Harvester. none: the file has ended, or the next scan opens it again.
`opened`: it is open and nothing is read yet; one of the rows of this name follows. A file that is left while batches of
it are in flight is Draining first. What is done in capitals is an `Effect`.

| state     | what is seen of the file                            | becomes   | what is done                           |
|-----------|-----------------------------------------------------|-----------|----------------------------------------|
| none      | a path of an input names it                         | Waiting   |                                        |
| Closed    | its size or a time has changed, or text is where    | Waiting   |                                        |
|           | its NULs began (resolver.py)                        |           |                                        |
| Closed    | no path names it any more                           | none      | its entry ends as missing              |
|           |                                                     |           | (missing_files.py)                     |
| Waiting   | there is a place for it                             | opened    |                                        |
|           | the same, and it is no longer at its path           | as before | if the next scan does not find it,     |
|           |                                                     |           | what is lost is counted (unopened.py)  |
| Waiting   | no path names it any more                           | none      | what is lost is counted (unopened.py)  |
| Waiting   | it is shorter, or its inode was used again          | Waiting   | the same                               |
| opened    | it may be a copy of a file that is there            | Suspected | compared with it (copy_detector.py)    |
| opened    | all of it was acknowledged, and needs no proof      | Closed    | KEEP                                   |
| opened    | too old: ignore_older, ignore_inactive              | Closed    | KEEP; PUT_BACK if it needs a proof     |
| opened    | no entry is its own                                 | Reading   | SAVE a new one                         |
| opened    | an entry is its own, as its bytes show at once      | Reading   | NOTE; with --once SAVE                 |
|           | the same, to be proven (proving.py)                 | Reading   | NOTE, when it is proven                |
| Suspected | its original ended, all of it is in this one        | opened    | it resumes where that was              |
|           |                                                     |           | (relation.py)                          |
| Suspected | it differs, grows, is deleted; after 5 s            | opened    | it is new                              |
| Reading   | the proof fails: the entry is not its own           | opened    | IDENTIFY it again, PUT_BACK the entry  |
| Reading   | it was empty, and proves to be compressed           | opened    | IDENTIFY it again                      |
| Reading   | it is shorter than was read, or has other bytes     | none      | END truncated, COUNT, SCAN; its last   |
|           |                                                     |           | message is sent, unless a copy has     |
|           |                                                     |           | more of it                             |
| Reading   | it is shorter, and has all that was read            | Reading   | what it lost is counted (open_files.py)|
| Reading   | its compressed data are damaged                     | Closed    | REPORT; an unfinished message or line  |
|           |                                                     |           | before the damage is not sent          |
| Reading   | it cannot be read: an error of the system           | none      | REPORT, KEEP                           |
| Reading   | a scan finds it at another path, none, or its again | Reading   | its path is noted. What then comes to  |
|           |                                                     |           | the old path may continue its last     |
|           |                                                     |           | message (rotation_links.py), which is  |
|           |                                                     |           | sent multiline.timeout after its last  |
|           |                                                     |           | line (batch_reader.py). Before, only a |
|           |                                                     |           | deleted file is closed, for its time   |
|           |                                                     |           | or budget                              |
|           | the same, with file_identity.path                   | none      | END removed: the other path is another |
|           |                                                     |           | file                                   |
| Reading   | touched, resend_on_touch, and all is acknowledged   | none      | END truncated; not outside the paths   |
| Reading   | an option closes it, and all is acknowledged        | Closed    | KEEP                                   |
|           | the same, before its end: after_interval            | none      | KEEP; outside the paths it is read on  |
|           | the same, and it has just grown                     | Reading   | WAKE                                   |
|           | the same, for another file that waits, and it has   | Reading   | it may still be written to, which no   |
|           | just left the paths                                 |           | later opening would find               |
|           | the same, and no path leads to it                   | none      | END removed, COUNT_LINE                |
| Reading   | no path leads to it, and its time or budget is over | none      | END removed, COUNT what was not read   |
| Reading   | a reload changes its input, or removes it           | none      | the input that has its entry reads on, |
|           |                                                     |           | if any (inheritance.py). Without a     |
|           |                                                     |           | name it stays Reading (input_swap.py)  |
| Reading   | the agent stops                                     | none      | KEEP; if no path leads to it END,      |
|           |                                                     |           | COUNT                                  |
| Draining  | its last batch is acknowledged                      | as it was | KEEP; PUT_BACK if it is not proven;    |
|           |                                                     | left      | if it has ended OFFER, to its copies   |

`to_open` and `find_moved` decide the rows of a scan, for crawler.py, and `next_state` the others: for starting.py and
closing.py, crawler.py (truncated, damaged, unreadable), open_files.py (`file_identity.path`), touches.py, and where a
module is named. They are pure: the caller performs the effects. Which entry is a file's own is another table
(relation.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from log_shipper.registry.state import REMOVED, TRUNCATED
from log_shipper.shipper.errors import Disproved, Truncated
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey
from log_shipper.shipper.inputs.files.lifecycle.files import NEVER, Files
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.sighting import PathState
from log_shipper.shipper.options.model import CloseConfig
from log_shipper.shipper.reader.gzip_file import CompressionError


class To(Enum):
    READING = auto()
    CLOSED = auto()
    NONE = auto()
    AS_DECIDED = auto()  # the time at which reading stopped


class Effect(Enum):
    SAVE = auto()  # the entry must be on disk before anything is read
    NOTE = auto()  # the entry is given to the registrar
    KEEP = auto()  # the entry stays: the file resumes there
    PUT_BACK = auto()  # the entry is what it was before it was matched with the file
    OFFER = auto()  # the entry is for the file that proves to be this one
    END = auto()  # the entry ends
    IDENTIFY = auto()  # the file is looked into once more
    COUNT = auto()  # what was not read is counted and logged
    COUNT_LINE = auto()  # so is what was read and is no whole message
    SCAN = auto()  # what is at the path now is a new file
    REPORT = auto()  # the problem is shown
    WAKE = auto()  # it is read again


class Next(NamedTuple):
    """The next state of a file. `why`: the option that closes it, or would; `ended`: how its entry ends."""

    to: To
    effects: tuple[Effect, ...] = ()
    why: str = ""
    ended: str | None = None


# The observations are not frozen, which would cost as much as the decision.


@dataclass(slots=True)
class Opened:
    """A file that was opened and identified. `is_skipped`: by ignore_older or ignore_inactive; `is_read`: all of it was
    acknowledged, and no option needs it open. `is_proven`: it was not written to since its entry was made.
    `needs_no_proof`: that, or its entry has no proof to compare with."""

    is_new: bool
    is_skipped: bool
    is_read: bool
    is_proven: bool
    needs_no_proof: bool
    once: bool


@dataclass(slots=True)
class Failed:
    """A read that failed."""

    error: Truncated | CompressionError | OSError


@dataclass(slots=True)
class FileObservation:
    """A file that is read, at one moment. `idle_for` and `open_for`: seconds since its last read with data, and since
    it was opened. `is_over`: it is at its end, with nothing pending and nothing in flight; `awaits_timeout`: its
    pending message will be ended by time; `is_read_on`: another file's message continues in it. `moved_for`: seconds
    since it left the inputs' paths, unless it was deleted. `wanted`: another file waits for its place. `has_grown`: it
    may have other bytes than were read; `has_rest`: it has more."""

    rules: CloseConfig
    idle_for: float
    open_for: float
    at_end: bool
    is_over: bool
    awaits_timeout: bool
    is_settled: bool
    is_finished: bool
    is_complete: bool
    is_compressed: bool
    has_left_its_path: bool
    is_removed: bool
    is_read_on: bool
    moved_for: float = NEVER
    wanted: bool = False
    is_touched: bool = False
    has_grown: bool = False
    has_rest: bool = False


@dataclass(slots=True)
class Settled:
    """A file that is no longer read and has nothing in flight."""

    is_proven: bool
    has_ended: bool


class FileEvent(Enum):
    """An event that decides by itself."""

    TOUCHED = auto()
    RENAMED_BY_PATH = auto()
    WITHDRAWN = auto()  # from its input, by a reload
    STOPPED = auto()
    STOPPED_REMOVED = auto()  # and no path leads to it
    OVER_BUDGET = auto()


Seen = Opened | Failed | FileObservation | Settled | FileEvent

AFTER_INTERVAL = "close.reader.after_interval"
PLACE_WANTED = "harvester_limit"
# A program opens its new log some time after rotation has renamed the old one, and until then writes to that.
MOVED_SILENCE = 5.0  # seconds
MAX_MOVED = 60.0  # seconds: if it goes on writing, the files that wait must not wait for ever
STAYS = Next(To.READING)
AT_ONCE: Mapping[FileEvent, Next] = {
    FileEvent.TOUCHED: Next(To.NONE, (Effect.END,), ended=TRUNCATED),
    FileEvent.RENAMED_BY_PATH: Next(To.NONE, (Effect.END,), ended=REMOVED),
    FileEvent.WITHDRAWN: Next(To.NONE),
    FileEvent.STOPPED: Next(To.NONE, (Effect.KEEP,)),
    FileEvent.STOPPED_REMOVED: Next(To.NONE, (Effect.END, Effect.COUNT), ended=REMOVED),
    FileEvent.OVER_BUDGET: Next(To.NONE, (Effect.END, Effect.COUNT), ended=REMOVED),
}


def next_state(seen: Seen) -> Next:
    match seen:
        case Opened():
            return _opened(seen)
        case Failed():
            return _failed(seen.error)
        case FileObservation():
            return _without_name(seen) if seen.is_removed else _looked(seen)
        case Settled():
            return _settled(seen)
        case FileEvent():
            return AT_ONCE[seen]


def _opened(seen: Opened) -> Next:
    if not seen.once and seen.is_skipped and not seen.needs_no_proof:
        return Next(To.CLOSED, (Effect.PUT_BACK,))
    if not seen.once and (seen.is_skipped or (seen.is_read and seen.needs_no_proof)):
        return Next(To.CLOSED, (Effect.KEEP,))
    if seen.is_new or (seen.once and seen.is_proven):  # with --once it has a cut at its end
        return Next(To.READING, (Effect.SAVE,))
    return Next(To.READING, (Effect.NOTE,) if seen.is_proven else ())


def _failed(error: Truncated | CompressionError | OSError) -> Next:
    match error:
        case Disproved():
            return Next(To.NONE, (Effect.IDENTIFY,))
        case Truncated():
            return Next(To.NONE, (Effect.END, Effect.COUNT, Effect.SCAN), ended=TRUNCATED)
        case CompressionError():  # its compressed data end here; all before was read
            return Next(To.CLOSED, (Effect.REPORT,))
    return Next(To.NONE, (Effect.REPORT, Effect.KEEP))


def _looked(seen: FileObservation) -> Next:
    option = _option(seen)
    if option is None:
        return STAYS
    if seen.is_touched:  # the next scan ends it
        return Next(To.READING, why=option)
    if option == PLACE_WANTED and _is_just_moved(seen):
        return Next(To.READING, why=option)
    if option == AFTER_INTERVAL and seen.moved_for < NEVER and not (seen.at_end or seen.is_finished):
        return Next(To.READING, why=option)  # no scan would find it, to open it again
    if seen.has_grown:
        return Next(To.READING, (Effect.WAKE,), option)
    return Next(To.CLOSED if seen.at_end or seen.is_finished else To.NONE, (Effect.KEEP,), option)


def _is_just_moved(seen: FileObservation) -> bool:
    return seen.moved_for < (MAX_MOVED if seen.idle_for < MOVED_SILENCE else MOVED_SILENCE)


def _without_name(seen: FileObservation) -> Next:
    """Return the next state of a deleted file: it is read to its end, because that is impossible later."""
    option, is_over = _option(seen), is_over_time(seen.rules, seen.open_for)
    if option is None:
        return _given_up(AFTER_INTERVAL) if is_over and not seen.is_read_on else STAYS
    if seen.is_compressed:
        return Next(To.NONE, (Effect.END,), option, REMOVED) if seen.is_complete else _given_up(option)
    if (seen.has_rest and option == AFTER_INTERVAL) or (seen.has_grown and is_over):
        return _given_up(AFTER_INTERVAL)
    if seen.has_grown:  # its writer still has it open, or truncated it before it was deleted
        return Next(To.READING, (Effect.WAKE,), option)
    return Next(To.NONE, (Effect.END, Effect.COUNT_LINE), option, REMOVED)


def _given_up(option: str) -> Next:
    return Next(To.NONE, (Effect.END, Effect.COUNT), option, REMOVED)


def _option(seen: FileObservation) -> str | None:
    """Return the option that closes the file."""
    rules, change = seen.rules, seen.rules.on_state_change
    if seen.is_read_on:
        return None
    if seen.is_finished and seen.is_settled:
        return "--once"
    if seen.is_settled and is_over_time(rules, seen.open_for) and not seen.awaits_timeout:
        return AFTER_INTERVAL
    if not seen.is_over:
        return None
    options = (
        (seen.is_complete, "compression"),
        (seen.is_removed and change.removed, "close.on_state_change.removed"),
        (seen.has_left_its_path and change.renamed, "close.on_state_change.renamed"),
        (rules.reader.on_eof, "close.reader.on_eof"),
        (0 < change.inactive <= seen.idle_for, "close.on_state_change.inactive"),
        (seen.wanted, PLACE_WANTED),
    )
    for applies, option in options:
        if applies:
            return option
    return None


def is_over_time(rules: CloseConfig, open_for: float) -> bool:
    return 0 < rules.reader.after_interval <= open_for


def _settled(seen: Settled) -> Next:
    if not seen.is_proven:
        return Next(To.AS_DECIDED, (Effect.PUT_BACK,))
    return Next(To.AS_DECIDED, (Effect.OFFER if seen.has_ended else Effect.KEEP,))


def to_open(candidates: Mapping[FileKey, Candidate], files: Files) -> list[Candidate]:
    """Return the files to be opened, the oldest first: new ones, and closed ones with new data."""
    wanted = []
    closed, with_state = files.closed, files.with_state
    for key, candidate in candidates.items():  # there may be a hundred thousand
        if closed[key].has_new_data(candidate.file) if key in closed else key not in with_state:
            wanted.append(candidate)
    wanted.sort(key=lambda candidate: candidate.file.modified)
    return wanted


def find_moved(
    candidates: Mapping[FileKey, Candidate], files: Files
) -> tuple[list[tuple[Harvester, ScannedFile]], list[Harvester]]:
    """Return the open files at another path, or at theirs again, with that path, and those that a survey did not
    find."""
    renamed, missing = [], []
    for key, harvester in files.running.items():
        if harvester.path_state is PathState.REMOVED:
            continue
        if key not in candidates:
            missing.append(harvester)
        elif (file := candidates[key].file).path != harvester.state.path or harvester.path_state is PathState.MOVED:
            renamed.append((harvester, file))
    return renamed, missing
