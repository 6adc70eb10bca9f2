"""When renewed certificates are used."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from log_shipper.config.text.checks import Finding
from log_shipper.runtime.kafka.renewal import DAY, CertificateFiles
from tests.fakes import ManualClock

INTERVAL = 5.0


@dataclass
class Inspected:
    problems: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)


@dataclass
class Desk:
    directory: Path
    clock: ManualClock
    inspected: Inspected = field(default_factory=Inspected)

    def __post_init__(self) -> None:
        self.paths = [str(self.directory / name) for name in ("c.pem", "c.key")]
        for path in self.paths:
            Path(path).write_text("first")
        self.files = CertificateFiles(self.paths, lambda: self.inspected, INTERVAL, self.clock)

    def replace(self, path: str) -> None:
        """As certbot and Kubernetes do: another file under the same name."""
        Path(f"{path}.new").write_text("second")
        os.replace(f"{path}.new", path)

    def look(self) -> bool:
        self.clock.advance(INTERVAL)
        return self.files.are_renewed()


@pytest.fixture
def desk(tmp_path: Path, clock: ManualClock) -> Desk:
    return Desk(tmp_path, clock)


def test_files_that_do_not_change_are_not_renewed(desk: Desk) -> None:
    assert [desk.look() for _ in range(3)] == [False] * 3


def test_replaced_files_are_used_once_and_only_when_they_rest(desk: Desk) -> None:
    desk.replace(desk.paths[0])
    assert not desk.look()
    desk.replace(desk.paths[1])
    assert not desk.look()
    assert desk.look()
    assert not desk.look()


def test_the_files_are_looked_at_once_in_the_interval(desk: Desk) -> None:
    desk.replace(desk.paths[0])
    assert not desk.look()
    desk.clock.advance(INTERVAL / 2)
    assert not desk.files.are_renewed()
    desk.clock.advance(INTERVAL / 2)
    assert desk.files.are_renewed()


def test_files_that_cannot_be_used_are_reported_and_the_next_ones_are_used(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.inspected.problems.append(("ssl.key", "c.key is not the key of the certificate"))
    desk.replace(desk.paths[1])
    assert [desk.look() for _ in range(3)] == [False] * 3
    (record,) = caplog.records
    assert "output.kafka.ssl.key: c.key is not the key of the certificate" in record.message
    assert "read before remain in use" in record.message
    desk.inspected.problems.clear()
    desk.replace(desk.paths[0])
    assert [desk.look() for _ in range(2)] == [False, True]


def test_a_file_that_is_missing_for_a_while_is_no_error(desk: Desk) -> None:
    away = Path(desk.paths[0]).rename(desk.directory / "away")  # and not deleted: its inode is not that of the next one
    assert not desk.look()
    shutil.copyfile(away, desk.paths[0])
    assert [desk.look() for _ in range(2)] == [False, True]


def test_a_certificate_that_expires_soon_is_a_warning_each_day(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.inspected.warnings.append(("ssl.certificate", "c.pem expires in 3 days"))
    desk.look()
    assert not caplog.records
    for days in (1, 2):
        desk.clock.advance(DAY)
        desk.look()
        desk.look()
        assert [record.message for record in caplog.records] == [
            "output.kafka.ssl.certificate: c.pem expires in 3 days"
        ] * days
