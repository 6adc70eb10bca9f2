"""The reports are those of sd_notify(3), and without a service manager there are none."""

import logging
import os
from pathlib import Path

import pytest

from log_shipper.runtime.systemd import Notifier
from tests.service_manager import ServiceManager


@pytest.mark.parametrize("is_abstract", [False, True])
def test_a_report_is_one_datagram_of_lines(tmp_path: Path, is_abstract: bool) -> None:
    with ServiceManager(None if is_abstract else tmp_path / "notify") as manager:
        notifier = Notifier.from_environment(manager.environment)
        assert notifier
        notifier.send("READY=1", "STATUS=two files")
        notifier.extend(1.5)
        assert manager.reports() == [["READY=1", "STATUS=two files"], ["EXTEND_TIMEOUT_USEC=1500000"]]


@pytest.mark.parametrize("address", [None, "", "vsock:2:1234", "relative"])
def test_without_an_address_that_we_can_use_nothing_happens(address: str | None) -> None:
    environ = {"WATCHDOG_USEC": "1000000"} | ({} if address is None else {"NOTIFY_SOCKET": address})
    notifier = Notifier.from_environment(environ)
    assert not notifier
    assert notifier.watchdog is None
    notifier.send("READY=1")


@pytest.mark.parametrize(
    ("watchdog", "pid", "seconds"),
    [
        ("2500000", "ours", 2.5),
        ("2500000", "", 2.5),
        ("2500000", "1", None),
        ("0", "", None),
        ("", "", None),
        ("soon", "", None),
        ("-1", "", None),
        ("9" * 5000, "", None),
    ],
)
def test_the_watchdog_is_that_of_this_process(watchdog: str, pid: str, seconds: float | None) -> None:
    pid = str(os.getpid()) if pid == "ours" else pid  # as a parameter it would differ between the workers
    environ = {"NOTIFY_SOCKET": "/run/nothing", "WATCHDOG_USEC": watchdog, "WATCHDOG_PID": pid}
    assert Notifier.from_environment(environ).watchdog == seconds


def test_a_service_manager_that_takes_nothing_is_logged_once_and_disturbs_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notifier = Notifier(str(tmp_path / "notify"))
    with caplog.at_level(logging.WARNING):
        notifier.send("READY=1")
        notifier.send("WATCHDOG=1")
    assert len(caplog.messages) == 1
    assert str(tmp_path / "notify") in caplog.text
    with ServiceManager(tmp_path / "notify") as manager:
        notifier.send("WATCHDOG=1")
        assert manager.reports() == [["WATCHDOG=1"]]
