"""The pages written by hand: their links lead somewhere, their configurations load, and the README stays short."""

import re
from pathlib import Path

import pytest

from config.shipper.model import ShipperConfig
from config.sink.model import SinkConfig
from config.yaml.load import load

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
LONGEST_README = 150

LINK = re.compile(r"\]\(([^)\s]*)\)")
EXAMPLE = re.compile(r"^```yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Those of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    links = [link for link in LINK.findall(page.read_text()) if "://" not in link]
    targets = [(link, page.parent / link.partition("#")[0] if link[:1] != "#" else page) for link in links]
    return [
        link
        for link, target in targets
        if not target.exists() or ("#" in link and link.partition("#")[2] not in anchors(target))
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert broken(page) == []


def examples() -> list[tuple[str, str]]:
    return [(page.name, text) for page in PAGES for text in EXAMPLE.findall(page.read_text())]


def whole(key: str) -> list[str]:
    return [text for _, text in examples() if re.search(rf"^{re.escape(key)}", text, re.MULTILINE)]


@pytest.mark.parametrize("text", whole("shipper.inputs:"))
def test_an_example_of_the_shippers_configuration_loads(text: str, tmp_path: Path) -> None:
    example = tmp_path / "shipper.yml"
    example.write_text(text if "output." in text else f"{text}\noutput.console: {{}}\n")
    load(example, ShipperConfig)


@pytest.mark.parametrize("text", whole("checkpoint.path:"))
def test_an_example_of_the_sinks_configuration_loads(text: str, tmp_path: Path) -> None:
    example = tmp_path / "sink.yml"
    example.write_text(text)
    load(example, SinkConfig)


def test_the_readme_is_read_in_one_go() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= LONGEST_README, "details belong on a page of docs/"
