"""ARCHITECTURE.md is short, and what it names exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
PACKAGES = ("config", "registry", "runtime", "shipper", "spark_sink")
PLACE = re.compile(rf"`((?:{'|'.join([*PACKAGES, 'deploy', 'demo', 'bench', 'tests'])})(?:/[\w.]+)*)`")
STATION = re.compile(r"^\| (\d+) \| `(\w+)\.(\w+)` \| .* \| (.*)\|$", re.MULTILINE)
MAX_LINES, MAX_COLUMNS = 150, 120


def test_it_is_short() -> None:
    lines = TEXT.splitlines()
    assert len(lines) <= MAX_LINES, "details belong to the docstring of their module"
    assert [line for line in lines if len(line) > MAX_COLUMNS] == []


def test_every_place_that_it_names_exists() -> None:
    places = PLACE.findall(TEXT)
    assert len(places) > 40
    assert [place for place in places if not (ROOT / place).exists() and not (ROOT / f"{place}.py").exists()] == []


def test_every_package_has_a_line() -> None:
    named = set(re.findall(r"`([\w/]+)`", TEXT.partition("| room | |")[2].partition("\n\n")[0]))
    packages = {
        path.parent.relative_to(ROOT) for name in ("shipper", "spark_sink") for path in ROOT.glob(f"{name}/*/*.py")
    }
    missing = {str(path) for path in packages if str(path) not in named and path.name not in named}
    assert missing <= {"shipper/inputs", "spark_sink/options", "spark_sink/records"}


def test_a_batch_passes_eighteen_stations_of_the_code() -> None:
    defined = {
        (path.stem, name)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for name in re.findall(r"^(?:class|def) (\w+)", path.read_text(), re.MULTILINE)
    }
    stations = STATION.findall(TEXT)
    assert [number for number, *_ in stations] == [str(number) for number in range(1, 19)]
    assert {(module, name) for _, module, name, _ in stations} - defined == set()
    helpers = {name for *_, text in stations for name in re.findall(r"`(\w+)`", text)}
    assert helpers - {name for _, name in defined} == set()
