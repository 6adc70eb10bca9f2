import threading
from pathlib import Path

import pytest

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.shipper.monitor.configured import ConfigText


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "shipper.yml"
    file.write_text("name: a")
    return file


def test_it_is_made_once_when_it_is_asked_for(file: Path) -> None:
    made: list[str] = []
    configured = ConfigText(lambda: made.append("x") or "name: a\n", [file])  # type: ignore[func-returns-value]
    assert made == []
    assert [configured.text(), configured.text()] == ["name: a\n"] * 2
    assert made == ["x"]


def test_a_file_that_changed_since_it_was_read_is_not_shown_as_in_effect(file: Path) -> None:
    configured = ConfigText(file.read_text, [file])
    file.write_text("name: another")
    assert configured.text() == f"# {file}: changed after the shipper read it; apply it with a reload (SIGHUP)\n"
    configured.read_again()
    assert configured.text() == "name: another"


def test_a_configuration_that_cannot_be_read_is_no_error(file: Path) -> None:
    def export() -> str:
        raise ConfigError([])

    assert ConfigText(export, [file]).text().startswith("# cannot show the configuration: ")


def test_a_text_that_was_being_made_during_a_reload_is_not_kept(file: Path) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def export() -> str:
        text = file.read_text()
        begun.set()
        goes_on.wait()
        return text

    configured = ConfigText(export, [file])
    (asking := threading.Thread(target=configured.text)).start()
    begun.wait()
    file.write_text("name: another")
    (reloading := threading.Thread(target=configured.read_again)).start()
    reloading.join(0.1)
    goes_on.set()
    asking.join()
    reloading.join()
    assert configured.text() == "name: another"


def test_a_file_that_was_removed_has_changed(file: Path) -> None:
    configured = ConfigText(file.read_text, [file])
    file.unlink()
    assert "changed after" in configured.text()
