from pathlib import Path

import pytest

from log_shipper.shipper.inputs.files.discovery.dependents import Dependents
from log_shipper.shipper.inputs.files.discovery.scanner import ScanResult
from log_shipper.shipper.inputs.files.discovery.spec import InputSpec
from log_shipper.shipper.inputs.files.discovery.symlinks import ANY_NAME
from log_shipper.shipper.options.model import InputConfig, ProspectorConfig, ScannerConfig

LONG = "0123456789abcdef"


class Inputs:
    """Inputs that were scanned, each with one pattern below `folder`."""

    def __init__(self, folder: Path, *patterns: str) -> None:
        self.folder = folder
        self.dependents = Dependents()
        self.specs: dict[str, InputSpec] = {}
        self.listings: dict[str, ScanResult] = {}
        for pattern in patterns:
            prospector = ProspectorConfig(scanner=ScannerConfig(symlinks=True))
            config = InputConfig(id=pattern, paths=(f"{folder}/{pattern}",), prospector=prospector)
            self.specs[pattern] = InputSpec(config)
            self.listings[pattern] = self.specs[pattern].scanner().scan(full=False)
            self.dependents.replace(self.specs[pattern], ScanResult(), self.listings[pattern])

    def of(self, directory: str, name: str) -> set[str]:
        """Return the patterns of the inputs that depend on a name in a directory."""
        return {spec.id for spec in self.dependents.inputs_for([(directory, name)])}

    def remove(self, pattern: str) -> None:
        self.dependents.replace(self.specs[pattern], self.listings[pattern], ScanResult())


ANY = {"*.txt", "**/*.gz"}  # without a long ending: any name may concern them


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    (tmp_path / "logs").mkdir()
    (tmp_path / "linked.log").symlink_to(tmp_path / "logs" / "target.txt")
    return Inputs(tmp_path, f"*-{LONG}.log", "*-fedcba9876543210.log", "app.log", "linked.log", *ANY)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(f"web-{LONG}.log", {f"*-{LONG}.log"}, id="by its ending"),
        pytest.param("app.log", {"app.log"}, id="by the whole name"),
        pytest.param("linked.log", {"linked.log"}, id="a link"),
        pytest.param("web-1111111111111111.log", set(), id="no other input"),
        pytest.param(ANY_NAME, {f"*-{LONG}.log", "*-fedcba9876543210.log"}, id="a directory that is watched anew"),
    ],
)
def test_a_name_concerns_the_inputs_that_search_it(inputs: Inputs, name: str, expected: set[str]) -> None:
    assert inputs.of(str(inputs.folder), name) == expected | ANY


def test_a_name_at_the_end_of_a_link_concerns_the_input_of_the_link(inputs: Inputs) -> None:
    assert inputs.of(f"{inputs.folder}/logs", "target.txt") == {"linked.log", "**/*.gz"}


def test_an_input_that_is_removed_leaves_nothing(inputs: Inputs) -> None:
    for pattern in list(inputs.specs):
        inputs.remove(pattern)
    names = ("a.txt", "app.log", "linked.log", f"web-{LONG}.log", ANY_NAME)
    assert [inputs.of(str(inputs.folder), name) for name in names] == [set()] * len(names)
    assert inputs.dependents.names == {}
