"""Find the successors of a rotated file among the files that appeared since.

Half a message joined with a line of another file is worse than two halves. So a file is followed only where the names
show the order: numbers that count the generations without a gap, or dates and numbers that grow with the age. The times
of a .gz may be those of its creation, so they prove nothing alone, and only the head of its content is compared.
"""

import os
from itertools import pairwise

from log_shipper.shipper.inputs.files.identity.content import begins_as
from log_shipper.shipper.inputs.files.identity.rotated_names import generation_of, log_of, name_of, numbers_in
from log_shipper.shipper.inputs.files.reading.harvester import Harvester


def successors(harvester: Harvester, previous_path: str, new: list[Harvester]) -> list[Harvester] | None:
    """Return the successors of the file that was at `previous_path`, in order: rotated ones, and the current one, if
    there is one. `new` are all files that appeared. Empty if none of them is of that log, None if the successor is
    unknown. Raises OSError."""
    last = [file for file in new if file.state.path == previous_path]
    log, name = log_of(previous_path), name_of(previous_path)
    rotated = [file for file in new if log_of(file.state.path) == log and name_of(file.state.path) != name]
    if not rotated and not last:
        return []
    if any(not os.fstat(file.fd).st_nlink for file in [*rotated, *last]):
        return None  # it is opened late (a suspected copy), and may have been at this path before
    generation = generation_of(harvester.state.path, previous_path)
    if generation is not None:
        between = _by_generation(harvester, generation, previous_path, rotated)
    else:
        between = _by_date(harvester, rotated)
    if between is None:
        return None
    following = [*between, *last]
    copies = [file for file in between if _is_copy(file, [harvester, *following[following.index(file) + 1 :]])]
    if copies and any(file.content.compressed for file in (harvester, *between)):
        return None
    following = [file for file in between if file not in copies] + last
    if harvester.content.size and any(_is_copy(harvester, [file]) for file in following):
        return None  # it is an early copy of that file, in which its last message goes on
    return following


def _is_copy(file: Harvester, others: list[Harvester]) -> bool:
    """Return True if one of the others begins with all of the file: it was copied, and possibly written to since."""
    return any(begins_as(other.content, file.content, file.content.size) for other in others)


def _by_generation(harvester: Harvester, oldest: int, log: str, rotated: list[Harvester]) -> list[Harvester] | None:
    """Return the younger generations than `oldest`, that of the file. Tools count from 1, some from 0."""
    numbered: dict[int, Harvester] = {}
    directories = {os.path.dirname(path) for path in (harvester.state.path, log)}
    for file in rotated:
        is_beside = os.path.dirname(file.state.path) in directories
        number = generation_of(file.state.path, log) if is_beside else None
        if number in numbered or (number is None and not _is_older(file, harvester)):
            return None
        if number is not None and number >= oldest and not was_written_before(file, harvester):
            return None  # its name is another's now, or this log's numbers grow from the oldest file to the youngest
        if number is not None:
            numbered[number] = file
    first = 0 if 0 in numbered else 1
    between = [numbered.get(number) for number in range(oldest - 1, first - 1, -1)]
    known = [file for file in between if file is not None]
    return known if len(known) == len(between) else None


def _by_date(harvester: Harvester, rotated: list[Harvester]) -> list[Harvester] | None:
    """Return the younger files, whose names have the same form as this one's."""
    younger = sorted((file for file in rotated if not _is_earlier(file, harvester)), key=_age)
    for older, file in pairwise([harvester, *younger]):
        numbers, following = numbers_in(older.state.path), numbers_in(file.state.path)
        is_beside = _row_of(older) == _row_of(file)
        if not is_beside or len(numbers) != len(following) or numbers >= following or _age(older) == _age(file):
            return None
    return younger


def _row_of(file: Harvester) -> tuple[str, str]:
    return os.path.dirname(file.state.path), log_of(file.state.path)


def _is_earlier(file: Harvester, other: Harvester) -> bool:
    """Return True if the file is older, and its name or birth time shows that, too."""
    is_named_so = numbers_in(file.state.path) < numbers_in(other.state.path)
    return _is_older(file, other) or (is_named_so and _age(file) < _age(other))


def _is_older(file: Harvester, other: Harvester) -> bool:
    """Return True if the file was written to and created before the other one: a touch changes only the first."""
    return was_written_before(file, other) and (not other.state.birth or file.state.birth < other.state.birth)


def is_known_to_be_older(file: Harvester, other: Harvester) -> bool:
    """Return True if its birth and the time of its last write both show that the file is older. Raises OSError."""
    return 0 < file.state.birth < other.state.birth and was_written_before(file, other)


def was_written_before(file: Harvester, other: Harvester) -> bool:
    """Return True if the file is known to have been last written before the other one. Raises OSError."""
    return not other.content.compressed and _age(file) < _age(other)


def _age(harvester: Harvester) -> int:
    return os.fstat(harvester.fd).st_mtime_ns
