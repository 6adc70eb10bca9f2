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
class RenewalLab:
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

    def check(self) -> bool:
        self.clock.advance(INTERVAL)
        return self.files.are_renewed()


@pytest.fixture
def lab(tmp_path: Path, clock: ManualClock) -> RenewalLab:
    return RenewalLab(tmp_path, clock)


def test_files_that_do_not_change_are_not_renewed(lab: RenewalLab) -> None:
    assert [lab.check() for _ in range(3)] == [False] * 3


def test_replaced_files_are_used_once_and_only_when_they_rest(lab: RenewalLab) -> None:
    lab.replace(lab.paths[0])
    assert not lab.check()
    lab.replace(lab.paths[1])
    assert not lab.check()
    assert lab.check()
    assert not lab.check()


def test_the_files_are_looked_at_once_in_the_interval(lab: RenewalLab) -> None:
    lab.replace(lab.paths[0])
    assert not lab.check()
    lab.clock.advance(INTERVAL / 2)
    assert not lab.files.are_renewed()
    lab.clock.advance(INTERVAL / 2)
    assert lab.files.are_renewed()


def test_files_that_cannot_be_used_are_reported_and_the_next_ones_are_used(
    lab: RenewalLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.inspected.problems.append(("ssl.key", "c.key does not match the certificate in c.pem"))
    lab.replace(lab.paths[1])
    assert [lab.check() for _ in range(3)] == [False] * 3
    (record,) = caplog.records
    assert "output.kafka.ssl.key: c.key does not match the certificate in c.pem" in record.message
    assert "previous certificates remain in use" in record.message
    lab.inspected.problems.clear()
    lab.replace(lab.paths[0])
    assert [lab.check() for _ in range(2)] == [False, True]


def test_a_file_that_is_missing_for_a_while_is_no_error(lab: RenewalLab) -> None:
    away = Path(lab.paths[0]).rename(lab.directory / "away")  # and not deleted: its inode is not that of the next one
    assert not lab.check()
    shutil.copyfile(away, lab.paths[0])
    assert [lab.check() for _ in range(2)] == [False, True]


def test_a_certificate_that_expires_soon_is_a_warning_each_day(
    lab: RenewalLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.inspected.warnings.append(("ssl.certificate", "c.pem expires in 3 days"))
    lab.check()
    assert not caplog.records
    for days in (1, 2):
        lab.clock.advance(DAY)
        lab.check()
        lab.check()
        assert [record.message for record in caplog.records] == [
            "output.kafka.ssl.certificate: c.pem expires in 3 days"
        ] * days
