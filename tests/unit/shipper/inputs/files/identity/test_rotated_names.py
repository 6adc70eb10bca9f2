import time
from itertools import product

import pytest

from log_shipper.shipper.inputs.files.identity.rotated_names import (
    is_named_after,
    is_of_same_log,
    log_of,
    name_of,
    possible_originals,
    possible_originals_elsewhere,
    shows_rotation,
    was_rotated_before,
)


@pytest.mark.parametrize(
    ("path", "original"),
    [
        ("/l/app.log.1", "/l/app.log"),
        ("/l/app.log.10", "/l/app.log.9"),
        ("/l/app.log.1.gz", "/l/app.log"),
        ("/l/app.log.2.gz", "/l/app.log.1"),
        ("/l/app.log.gz", "/l/app.log"),
        ("/l/app.log-20261121", "/l/app.log"),
        ("/l/app.log-20261121.gz", "/l/app.log"),
        ("/l/app.log.2026-11-21", "/l/app.log"),
        ("/l/app.log.2026-11-21.3.gz", "/l/app.log"),
        ("/l/app-20261121.log", "/l/app.log"),
        ("/l/app_2026-11-21.log", "/l/app.log"),
        ("/l/app-20261121.log.gz", "/l/app.log"),
        ("/l/app.log.bak", "/l/app.log"),
        ("/old/app.log.1", "/l/app.log"),
        ("/old/app.log", "/l/app.log"),
        ("/l/catalina.2026-11-21.log", "/l/catalina.log"),
        ("/l/app.2026-11-21.0.log.gz", "/l/app.log"),
        ("/old/app-2026-11-21-1.log.gz", "/l/app.log"),
        ("/l/app-20261121.log.gz", "/l/app-20261121.log"),
        ("/l/app-20261121.log.1", "/l/app-20261121.log"),
        ("/l/app-20261121-20261122.log", "/l/app-20261121.log"),
        ("/l/app.1.log", "/l/app.log"),
        ("/l/app.1.log.gz", "/l/app.log"),
        ("/l/app.1.log.gz", "/l/app.1.log"),
        ("/l/app.2.log.gz", "/l/app.1.log"),
        ("/l/app.2026-11-21.1.log", "/l/app.2026-11-21.0.log"),
        ("/l/app.log-old", "/l/app.log"),
        ("/l/job1.gz", "/l/job1"),
        ("/l/job1.bak.gz", "/l/job1"),
        ("app.log.1", "app.log"),
    ],
)
def test_the_name_of_a_rotated_file_shows_its_original(path: str, original: str) -> None:
    assert is_named_after(path, original)


@pytest.mark.parametrize(
    ("path", "original"),
    [
        ("/l/other.log", "/l/app.log"),
        ("/l/app.txt", "/l/app.log"),
        ("/l/app2.log", "/l/app.log"),
        ("/l/worker-1.log", "/l/worker-2.log"),
        ("/l/worker-2.log", "/l/worker-1.log"),
        ("/l/app.1.log", "/l/app.2.log"),
        ("/l/app.log.1.gz", "/l/app.log.2"),
        ("/l/app-20261122.log", "/l/app-20261121.log"),
        ("/l/app-2026-11-22.log.gz", "/l/app-2026-11-21.log"),
        ("/l/app-2026.11.22.log.gz", "/l/app-2026.11.21.log"),
        ("/l/app.log", "/l/app.log.1"),
        ("/l/worker-12.log.1", "/l/worker-13.log"),
        ("/l/my-app.log.1", "/l/app.log"),
        ("/l/job10", "/l/job1"),
        ("/l/job10.gz", "/l/job1"),
        ("/l/job-a.gz", "/l/job"),
        ("/l/app.logs", "/l/app.log"),
        ("/app.log/other", "/l/app.log"),
    ],
)
def test_a_name_of_its_own_speaks_for_nothing(path: str, original: str) -> None:
    assert not is_named_after(path, original)


@pytest.mark.parametrize(
    ("path", "original"),
    [
        ("/l/app.log.1", "/l/app.log"),
        ("/l/app.log.2", "/l/app.log.1"),
        ("/l/app.log.10", "/l/app.log.9"),
        ("/l/app.log.3", "/l/app.log.1"),  # shifted twice between two scans
        ("/l/app.log.1.gz", "/l/app.log.1"),
        ("/l/app.log.2.gz", "/l/app.log.1"),
        ("/l/app.log.1.gz", "/l/app.log"),
        ("/l/app.log-20261121", "/l/app.log"),
        ("/l/app.log-20261121.gz", "/l/app.log-20261121"),
        ("/l/app-20261121.log", "/l/app.log"),
        ("/l/app-20261121.log.gz", "/l/app.log"),
        ("/l/app.1.log", "/l/app.log"),
        ("/l/app.2.log.gz", "/l/app.1.log"),
        ("/l/app.2.log.gz", "/l/app.2.log"),
        ("app.log.1", "app.log"),
    ],
)
def test_a_copy_may_have_been_made_of_these(path: str, original: str) -> None:
    assert original in set(possible_originals(path))


@pytest.mark.parametrize(
    ("path", "original"),
    [
        ("/l/app.log.1", "/l/app.log.1"),
        ("/l/app.log.1", "/l/app.log.2"),
        ("/l/app.log.9", "/l/app.log.2"),
        ("/l/app.log.1", "/old/app.log"),
        ("/l/app.log", "/l/other.log"),
        ("/l/app.log", "/l/"),
    ],
)
def test_a_file_is_no_copy_of_itself_of_an_older_one_or_of_one_elsewhere(path: str, original: str) -> None:
    assert original not in set(possible_originals(path))


@pytest.mark.parametrize(
    ("path", "original", "expected"),
    [
        ("/l/app.log.1", "/l/app.log", True),
        ("/l/app.log.1", "/l/app.log-2", True),  # the log was truncated, and renamed since
        ("/l/app.log.1", "/l/app.log.2", True),
        ("/l/app-20261121.log", "/l/app.1.log", True),
        ("/l/app.log.bak", "/l/app.log", True),
        ("/l/app.log.1", "/l/app2.log", False),
        ("/l/worker-1.log", "/l/worker-2.log", False),
        ("/l/job10", "/l/job1", False),
    ],
)
def test_a_copy_and_its_original_have_names_of_the_same_log(path: str, original: str, expected: bool) -> None:
    assert is_of_same_log(path, original) is expected


@pytest.mark.parametrize(
    ("path", "original", "expected"),
    [
        ("/l/app.log.2.gz", "/l/app.log.1", True),
        ("/l/app.log.10.gz", "/l/app.log.9", True),
        ("/l/app.log.1.gz", "/l/app.log.1", True),
        ("/l/app.1.log.gz", "/l/app.1.log", True),
        ("/l/app.log.gz", "/l/app.log", False),
        ("/l/app.log.1.gz", "/l/app.log.2", False),
        ("/l/web.log.2.gz", "/l/app.log.1", False),
        ("/l/app.log.20261122.gz", "/l/app.log.20261121", False),
        ("/l/app.log.2.gz", "/l/app.log", False),
        ("/l/app.2.log", "/l/app.1.log", True),
        ("/l/app.1.log", "/l/app.log", False),
        ("/l/app-2026-11-22.log", "/l/app-2026-11-21.log", False),
    ],
)
def test_a_generation_becomes_an_older_one_or_is_compressed(path: str, original: str, expected: bool) -> None:
    assert was_rotated_before(path, original) is expected


@pytest.mark.parametrize(
    ("path", "original", "expected"),
    [
        ("/l/app.log.gz", "/l/app.log", True),
        ("/l/app.log.bak", "/l/app.log", True),
        ("/old/app.log.1", "/l/app.log", True),
        ("/old/app-20261121.log.gz", "/l/app.log", True),
        ("/old/app-20261121.1.log", "/l/app-20261121.log", True),
        ("/l/2026-11-21/app.log.gz", "/l/app.log", True),
        ("/l/2026/11/app.log", "/l/app.log", True),
        ("app.log.1", "app.log", True),
        ("/tue/app.log", "/mon/app.log", False),
        ("/tue/app.log.gz", "/mon/app.log", False),
        ("/tue/app.log.bak", "/mon/app.log", False),
        ("/tue/app.log.2.gz", "/mon/app.log.1", False),
        ("/tue/app-20261122.log", "/mon/app-20261121.log", False),
        ("/l/tue/app.log.gz", "/l/app.log", False),
        ("/2026-11-22/app.log", "/2026-11-21/app.log", False),
        ("/tue/web.log.1", "/mon/app.log", False),
    ],
)
def test_in_another_directory_rotation_shows_by_a_number_or_date(path: str, original: str, expected: bool) -> None:
    assert shows_rotation(path, original) is expected


DIRECTORIES = ("logs", "old", "2026-11", "20261121", "app.log.1")
NAMES = ("app.log", "app.log.1", "app.log.2.gz", "app.log-20261121", "app.1.log", "app.log.gz", "app.log.bak", "app")


def test_the_originals_elsewhere_are_those_that_rotation_shows_with_one_directory_less() -> None:
    """They have the name of the log, or that of the file without .gz."""
    found = 0
    for depth, name in product(range(4), NAMES):
        for parents in product(DIRECTORIES, repeat=depth):
            path = "/".join(["", *parents, name])
            above = ["/".join(["", *parents[:part], *parents[part + 1 :]]) for part in range(depth)]
            own = {log_of(path), name_of(path).removesuffix(".gz")}
            shown = {f"{directory}/{log}" for directory, log in product(above, own)}
            shown = {original for original in shown if shows_rotation(path, original)}
            assert set(possible_originals_elsewhere(path)) == shown, path
            found += len(shown)
    assert found > 1000


def test_a_number_as_long_as_a_date_costs_no_more_than_a_short_one() -> None:
    assert len(list(possible_originals("/l/app.log.20261121"))) < 60


def test_a_name_of_numbers_alone_costs_no_more_than_another() -> None:
    """Else whoever names files decides how long the reading thread takes."""
    started = time.process_time()
    assert not is_named_after("/l/app" + ".1111" * 50 + "x.log", "/l/app.log")
    assert len(list(possible_originals("/l/" + "1." * 120 + "x"))) < 1000
    assert time.process_time() - started < 1.0
