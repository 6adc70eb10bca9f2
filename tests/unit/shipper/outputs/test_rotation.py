"""Rotation of the file of output.file loses no acknowledged record, whatever happens when."""

import itertools
import json
import os
import stat
from pathlib import Path

import pytest

from log_shipper.shipper.outputs.file import RETRY_INTERVAL, FileOutput, OutputFile, Rotation
from tests.builders import RecordedDeliveries, batch, encoder
from tests.capabilities import without_capabilities
from tests.fakes import ManualClock

LINE = 600  # more bytes than one record takes, and less than two


class Site:
    def __init__(self, directory: Path, clock: ManualClock) -> None:
        self.path = directory / "out"
        self.clock = clock
        self.deliveries = RecordedDeliveries()

    def open(self, rotation: Rotation, mode: int = 0o600) -> FileOutput:
        return FileOutput(OutputFile(self.path, mode, rotation), encoder(), self.deliveries, self.clock)

    def write(self, output: FileOutput, *texts: str) -> None:
        for text in texts:
            output.publish(batch([text]))
        output.poll(0)

    def files(self) -> dict[str, list[str]]:
        """Return the messages in each file, by its number; the current one has none."""
        paths = sorted(self.path.parent.iterdir())
        return {
            path.name.removeprefix("out"): [json.loads(line)["message"] for line in path.read_text().splitlines()]
            for path in paths
        }


@pytest.fixture
def site(tmp_path: Path, clock: ManualClock) -> Site:
    return Site(tmp_path, clock)


def test_a_file_that_would_become_too_large_is_renamed_and_the_oldest_is_deleted(site: Site) -> None:
    output = site.open(Rotation(LINE, keep=2))
    for text in "abcd":
        site.write(output, text)
    assert site.files() == {"": ["d"], ".1": ["c"], ".2": ["b"]}
    assert site.deliveries.texts == ["a", "b", "c", "d"]


def test_batches_of_one_poll_are_rotated_too(site: Site) -> None:
    output = site.open(Rotation(LINE, keep=9))
    site.write(output, "a", "b", "c")
    assert site.files() == {"": ["c"], ".1": ["b"], ".2": ["a"]}
    assert site.deliveries.texts == ["a", "b", "c"]


def test_a_batch_that_is_larger_than_a_file_may_be_has_one_of_its_own(site: Site) -> None:
    output = site.open(Rotation(LINE))
    output.publish(batch(["a", "b", "c"]))
    site.write(output, "d")
    assert site.files() == {"": ["d"], ".1": ["a", "b", "c"]}


def test_nothing_is_rotated_before_it_is_on_disk(site: Site) -> None:
    synced: list[list[str]] = []
    file = OutputFile(site.path, rotation=Rotation(LINE))

    def fsync(descriptor: int) -> None:
        os.fsync(descriptor)
        synced.append(sorted(site.files()))

    output = FileOutput(file, encoder(), site.deliveries, site.clock, fsync)
    site.write(output, "a", "b")
    assert synced[0] == [""]


def test_a_start_rotates_a_file_that_has_records(site: Site) -> None:
    at_start = Rotation(LINE * 10, on_start=True)
    output = site.open(at_start)
    site.write(output, "a")
    output.close()
    site.open(at_start).close()
    output = site.open(at_start)
    site.write(output, "b")
    assert site.files() == {"": ["b"], ".1": ["a"]}


def test_without_that_a_start_continues_the_file(site: Site) -> None:
    for text in "ab":
        output = site.open(Rotation(LINE * 10))
        site.write(output, text)
        output.close()
    assert site.files() == {"": ["a", "b"]}


def test_new_files_have_the_permissions_that_were_asked_for(site: Site) -> None:
    umask = os.umask(0o077)
    try:
        site.write(site.open(Rotation(LINE), mode=0o644), "a", "b")
    finally:
        os.umask(umask)
    assert {stat.S_IMODE(path.stat().st_mode) for path in site.path.parent.iterdir()} == {0o644}


def test_a_link_stays_and_leads_to_the_new_file(site: Site, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    site.path.symlink_to(tmp_path / "disk" / "records")
    output = site.open(Rotation(LINE))
    site.write(output, "a", "b")
    assert site.path.is_symlink()
    assert "b" in site.path.read_text()
    assert (tmp_path / "disk" / "records.1").exists()


@pytest.mark.parametrize("present", [p for n in range(5) for p in itertools.combinations((1, 2, 3, 4), n)])
def test_what_a_crash_left_is_rotated_without_a_loss(present: tuple[int, ...], tmp_path: Path) -> None:
    path = tmp_path / "out"
    for number in present:
        (tmp_path / f"out.{number}").write_text(str(number))
    path.write_text("0")
    Rotation(keep=4).rotate(path)
    after = sorted(tmp_path.iterdir(), key=lambda file: int(file.suffix[1:]))
    kept = [0, *present] if len(present) < 4 else [0, 1, 2, 3]
    assert [file.read_text() for file in after] == [str(number) for number in kept]
    assert after[0].name == "out.1"


def test_a_file_that_cannot_be_renamed_grows_and_is_rotated_later(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    output = site.open(Rotation(LINE))
    site.write(output, "a")
    with without_capabilities():
        tmp_path.chmod(0o500)
        site.write(output, "b")
        site.write(output, "c")
        tmp_path.chmod(0o700)
    assert site.files() == {"": ["a", "b", "c"]}
    assert site.deliveries.texts == ["a", "b", "c"]
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [f"cannot rotate {site.path}"]
    site.clock.advance(RETRY_INTERVAL)
    site.write(output, "d")
    assert site.files() == {"": ["d"], ".1": ["a", "b", "c"]}


def test_a_file_that_logrotate_renamed_meanwhile_is_followed(site: Site) -> None:
    output = site.open(Rotation(LINE))
    site.write(output, "a")
    site.path.rename(site.path.with_name("out-20261121"))
    site.write(output, "b", "c")
    assert site.files() == {"": ["c"], "-20261121": ["a"], ".1": ["b"]}
