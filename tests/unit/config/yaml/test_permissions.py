import os
from pathlib import Path

import pytest

from config.yaml.errors import ConfigError
from config.yaml.permissions import check_permissions, wrong


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "shipper.yml"
    file.write_text("name: x\n")
    file.chmod(0o644)
    return file


def test_a_file_that_only_its_owner_may_write_is_fine(file: Path) -> None:
    check_permissions(file)


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_may_write_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(ConfigError) as caught:
        check_permissions(file)
    expected = f"{file}: may be written by others (mode {mode:04o}); chmod go-w {file}, or --strict.perms=false"
    assert str(caught.value) == expected


def test_a_file_of_another_user_is_refused(file: Path) -> None:
    assert wrong(file, 0o600, owner=7, user=8) == [
        "belongs to user 7, not to root or user 8; chown it, or --strict.perms=false"
    ]


@pytest.mark.parametrize("owner", [0, 8])
def test_a_file_of_root_or_of_this_user_is_fine(file: Path, owner: int) -> None:
    assert wrong(file, 0o600, owner, user=8) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_given_away_is_refused(file: Path) -> None:
    os.chown(file, 12345, -1)
    with pytest.raises(ConfigError, match="belongs to user 12345, not to root or user 0"):
        check_permissions(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        check_permissions(tmp_path / "no.yml")
    assert str(caught.value) == f"{tmp_path}/no.yml: cannot be read: No such file or directory"
