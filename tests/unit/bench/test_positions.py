from pathlib import Path

from bench.positions import CHANGES, change, entry, load, write_registry
from log_shipper.registry.load import read


def test_the_registry_that_is_measured_has_the_entries_asked_for(tmp_path: Path) -> None:
    write_registry(tmp_path / "registry", 50)

    assert list(read(tmp_path / "registry").values()) == [entry(number) for number in range(50)]


def test_changing_entries_keeps_their_number_and_moves_their_positions(tmp_path: Path) -> None:
    write_registry(tmp_path / "registry", 50)

    changing = change(tmp_path / "registry")

    states = read(tmp_path / "registry")
    assert len(states) == 50
    assert states[entry(9).id].position == CHANGES - 1
    assert 0 < changing.seconds <= changing.maximum


def test_loading_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    write_registry(tmp_path / "registry", 50)

    loading = load(tmp_path / "registry")

    assert loading.open_seconds > 0
    assert loading.read_seconds > 0
