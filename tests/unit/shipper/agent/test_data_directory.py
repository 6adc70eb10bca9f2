"""What can stand where path.data should be."""

from pathlib import Path

import pytest

from log_shipper.shipper.agent.data_directory import DataDirectory
from log_shipper.shipper.errors import StartError


def refusal(path: Path) -> str:
    directory = DataDirectory(path)
    with pytest.raises(StartError) as caught, directory.translating_errors():
        directory.make()
    return str(caught.value)


def test_a_file_at_the_path_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert refusal(tmp_path / "data").startswith(f"path.data {tmp_path / 'data'} is a file, but must be a directory")


def test_a_link_to_a_disk_that_is_not_mounted_is_named_and_nothing_is_made_there(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "unmounted")
    expected = f"path.data {tmp_path / 'link'} is a symlink to {tmp_path / 'unmounted'}, which does not exist. "
    assert refusal(tmp_path / "link" / "data").startswith(expected)
    assert not (tmp_path / "unmounted").exists()


def test_a_directory_that_was_removed_is_made_again_with_the_same_agent(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data")
    directory.make()
    agent_id, first_start = directory.agent_id, directory.first_start(1000.0)
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    directory.make()
    again = DataDirectory(tmp_path / "data")
    assert (again.agent_id, again.first_start(2000.0)) == (agent_id, first_start)
