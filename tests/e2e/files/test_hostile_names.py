"""Names of files as long as the system takes them."""

import os
from pathlib import Path

from tests.e2e.files.local import LocalAgent

MAX_NAME_LENGTH = 255
MAX_PATH_LENGTH = 4095  # PATH_MAX, without the NUL


def deepest(directory: Path, name: str) -> Path:
    """Make a directory so deep that a file of this name in it has the longest path that can be opened."""
    while (room := MAX_PATH_LENGTH - len(os.fsencode(directory)) - len(name) - 1) > 1:
        directory = directory / ("d" * min(room - 1, MAX_NAME_LENGTH))
    directory.mkdir(parents=True)
    return directory


def test_a_file_with_the_longest_name_in_the_deepest_directory_is_shipped(agent: LocalAgent) -> None:
    name = "x" * (MAX_NAME_LENGTH - 4) + ".log"
    path = deepest(agent.logs, name) / name
    agent.configure([f"{agent.logs}/**/*.log"], **{"prospector.scanner.check_interval": "200ms"})
    agent.append("one", path=path)
    agent.start()
    agent.expect("one")
    (event,) = agent.events[:1]
    assert event["log"]["file"]["path"] == str(path)
