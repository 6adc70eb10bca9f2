"""Files behind symlinks, by the real process: rotated and led elsewhere faster than it scans."""

import os
import time
from pathlib import Path

import pytest

from tests.e2e.files.local import LocalAgent

CHECK_INTERVAL = "10s"  # the default: no scan that is due comes between two rotations
LINES = 21  # of a file; three before each rotation


class DockerLog:
    """The log of a container, as Docker's json-file writes it, with the links of a node of Kubernetes."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "docker" / "0123" / "0123-json.log"
        chain = [directory / "pods" / "shop_web-1_5f7c" / "web" / "0.log", directory / "containers" / "web-1_shop.log"]
        self.links = chain[-1].parent
        for place in (self.path, *chain):
            place.parent.mkdir(parents=True)
        target = self.path
        for link in chain:
            link.symlink_to(target)
            target = link
        self.path.touch()

    def write(self, text: str) -> None:
        with self.path.open("a") as file:
            file.write(f'{{"log":"{text}\\n","stream":"stdout","time":"2026-11-25T02:00:00.123456789Z"}}\n')

    def rotate(self) -> None:
        """As Docker with `max-file: 2`."""
        self.path.replace(self.path.with_name(f"{self.path.name}.1"))
        self.path.touch()


@pytest.mark.parametrize(
    "pause",
    [
        0.5,
        pytest.param(2.0, marks=pytest.mark.slow("14 s of pauses")),
        pytest.param(6.0, marks=pytest.mark.slow("42 s of pauses")),
    ],
)
def test_a_file_behind_links_that_is_rotated_between_two_scans_is_read_whole(agent: LocalAgent, pause: float) -> None:
    log = DockerLog(agent.directory)
    agent.configure(
        [f"{log.links}/*.log"],
        parsers=[{"container": None}],
        **{"prospector.scanner.check_interval": CHECK_INTERVAL, "prospector.scanner.symlinks": True},
    )
    log.write("there before")
    agent.start()
    agent.await_messages("there before")
    expected = [f"line {number}" for number in range(LINES)]
    for number, line in enumerate(expected):
        log.write(line)
        if number % 3 == 2:
            time.sleep(pause)
            log.rotate()
    agent.await_messages(*expected)
    assert agent.stop() == 0
    assert agent.all == ["there before", *expected]


def test_a_directory_link_that_leads_elsewhere_between_two_scans_loses_no_line(agent: LocalAgent) -> None:
    current = agent.directory / "srv" / "current"
    current.parent.mkdir()
    agent.configure([f"{current}/*.log"], **{"prospector.scanner.check_interval": CHECK_INTERVAL})
    expected = []
    for release in range(13):
        directory = agent.directory / "releases" / str(release)
        directory.mkdir(parents=True)
        link = current.with_name("next")
        link.symlink_to(directory)
        os.replace(link, current)
        for number in range(2):
            expected.append(f"release {release} line {number}")
            agent.append(expected[-1], path=directory / "app.log")
        if not release:
            agent.start()
            agent.await_messages(*expected)
        time.sleep(0.5)
    agent.await_messages(*expected)
    assert agent.stop() == 0
    assert agent.all == expected
