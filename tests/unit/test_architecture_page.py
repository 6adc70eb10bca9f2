"""ARCHITECTURE.md is short, and what it names exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
PACKAGES = ("config", "registry", "runtime", "shipper", "spark_sink")
PLACE = re.compile(rf"`((?:{'|'.join([*PACKAGES, 'deploy', 'demo', 'bench', 'tests'])})(?:/[\w.]+)*)`")
STATION = re.compile(r"^\| (\d+) \| `(\w+)` \| .* \| (.*)\|$", re.MULTILINE)
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
    source = "\n".join(path.read_text() for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
    defined = set(re.findall(r"^(?:class|def) (\w+)", source, re.MULTILINE))
    stations = STATION.findall(TEXT)
    assert [number for number, _, _ in stations] == [str(number) for number in range(1, 19)]
    named = {name for _, station, helpers in stations for name in (station, *re.findall(r"`(\w+)`", helpers))}
    assert named - defined == set()
