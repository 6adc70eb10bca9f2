"""shipper keystore, as a person types it."""

import io
import stat
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import pytest

from log_shipper.shipper.cli.commands import main
from log_shipper.shipper.options.keystore import FILE, read_keystore
from tests.full_disk import no_larger_files_than

CONFIG = """\
shipper.inputs:
  - {{type: filestream, id: app, paths: [/x]}}
output.console:
name: ${{SECRET}}
path.data: {data}
"""


@contextmanager
def standard_input(data: bytes) -> Iterator[None]:
    import sys

    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(data))
    try:
        yield
    finally:
        sys.stdin = before


class Store:
    def __init__(self, directory: Path) -> None:
        self.path = directory / "data" / FILE
        self.config = directory / "shipper.yml"
        self.config.write_text(CONFIG.format(data=directory / "data"))
        self.config.chmod(0o600)

    def run(self, *arguments: str, stdin: bytes = b"") -> int:
        with standard_input(stdin):
            return main(["keystore", *arguments, "-c", str(self.config)])

    def names(self) -> list[str]:
        with redirect_stdout(io.StringIO()) as printed:
            assert self.run("list") == 0
        return printed.getvalue().splitlines()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_a_secret_is_added_listed_and_removed(store: Store) -> None:
    assert store.run("create") == 0
    assert store.run("add", "SECRET", "--stdin", stdin=b"pass word\n") == 0
    assert store.run("add", "OTHER", "--stdin", stdin=b"line 1\nline 2") == 0
    assert read_keystore(store.path) == {"SECRET": "pass word", "OTHER": "line 1\nline 2"}
    assert store.names() == ["OTHER", "SECRET"]
    assert store.run("remove", "OTHER") == 0
    assert store.names() == ["SECRET"]


def test_a_configuration_with_the_secret_can_be_read_then(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "config", "-c", str(store.config)]) == 1
    assert store.run("add", "SECRET", "--stdin", "--force", stdin=b"web") == 0
    assert main(["test", "config", "-c", str(store.config)]) == 0
    assert "web" not in capsys.readouterr().out


def test_only_the_owner_may_read_the_file(store: Store) -> None:
    store.run("create")
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert [path.name for path in store.path.parent.iterdir()] == [FILE]


def test_the_paths_of_the_command_line_count(store: Store, tmp_path: Path) -> None:
    assert store.run("create", "--path.data", str(tmp_path / "other")) == 0
    assert store.run("create", "-E", f"keystore.path={tmp_path / 'third'}") == 0
    assert (tmp_path / "other" / FILE).exists()
    assert (tmp_path / "third").exists()
    assert not store.path.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("create",), "already exists; --force replaces it and deletes its secrets"),
        (("add", "A", "--stdin"), "A already exists in the keystore; --force replaces it"),
        (("add", "a b", "--stdin"), "'a b' is not a valid name: use letters, digits, '_', '.' and '-'"),
        (("add", "B"), "no terminal to prompt for the secret; use --stdin"),
        (("add", "B", "--stdin"), "the secret is empty; nothing changed"),
        (("remove", "A", "B", "C"), "B, C: not in the keystore; nothing changed"),
    ],
)
def test_a_mistake_changes_nothing(
    store: Store, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store.run("add", "A", "--stdin", "--force", stdin=b"1")
    before = store.path.read_bytes()
    assert store.run(*arguments, stdin=b"\n") == 1
    assert message in capsys.readouterr().err
    assert store.path.read_bytes() == before


def test_force_replaces(store: Store) -> None:
    store.run("add", "A", "--stdin", "--force", stdin=b"1")
    assert store.run("add", "A", "--stdin", "--force", stdin=b"2") == 0
    assert read_keystore(store.path) == {"A": "2"}
    store.path.write_text("damaged")
    assert store.run("create", "--force") == 0
    assert store.names() == []


def test_without_a_keystore_the_way_to_one_is_named(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert store.run("list") == 1
    assert f"no keystore at {store.path}; create one: shipper keystore create" in capsys.readouterr().err


def test_a_disk_that_refuses_the_keystore_is_not_taken_for_a_missing_permission(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    with no_larger_files_than(0):
        assert store.run("create") == 1
    message = f"{store.path}: cannot write the keystore: File too large; check this file system\n"
    assert capsys.readouterr().err == message
