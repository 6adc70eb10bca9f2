"""The pages written by hand: their links lead somewhere, their configurations load, and the README stays short."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from log_shipper.config.yaml.load import load
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.spark_sink.options.model import SinkConfig

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "tests" / "README.md"]
MAX_README_LINES = 150

# Messages of the sink that a page quotes, so that a reader finds the page by them.
QUOTED = {
    "guides/cluster.md": (
        "a jar is missing: add its package by --packages",
        "Spark has no file system for this kind of path",
        "views need Delta's jar, and Spark does not have it",
    ),
    "guides/sink-failures.md": ("the disk is full",),
    "guides/sink-recovery.md": ("was restored to an earlier version",),
    "guides/sink-status.md": ("error:", "remembered files:"),
    "guides/views.md": ("rows older than the watermark",),
}

LINK = re.compile(r"\]\(([^)\s]*)\)")
PRODUCT = ("config", "registry", "runtime", "shipper", "spark_sink")
NAMING = (*PRODUCT, "bench", "demo", "deploy", "examples", "script", "tests")
SUFFIXES = ("", ".conf", ".json", ".md", ".py", ".service", ".yaml", ".yml")
MENTION = re.compile(r"(?<![\w./-])(docs/[\w/-]+\.(?:md|svg))(?:#([\w-]+))?")
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


def test_every_page_that_code_and_configurations_name_exists() -> None:
    wrong = []
    files = [path for name in NAMING for path in (ROOT / name).rglob("*") if path.suffix in SUFFIXES and path.is_file()]
    for path in files:
        for page, heading in MENTION.findall(path.read_text()):
            target = ROOT / page
            if not target.is_file() or (heading and heading not in anchors(target)):
                wrong.append(f"{path.relative_to(ROOT)}: {page}#{heading}")
    assert wrong == []


def examples() -> list[tuple[str, str]]:
    return [(page.name, text) for page in PAGES for text in EXAMPLE.findall(page.read_text())]


def whole(key: str) -> list[str]:
    return [text for _, text in examples() if re.search(rf"^{re.escape(key)}", text, re.MULTILINE)]


@pytest.mark.parametrize("text", [*whole("shipper.inputs:"), *whole("filebeat.autodiscover:")])
def test_an_example_of_the_shippers_configuration_loads(text: str, tmp_path: Path) -> None:
    example = tmp_path / "shipper.yml"
    example.write_text(text if "output." in text else f"{text}\noutput.console: {{}}\n")
    load(example, ShipperConfig)


@pytest.mark.parametrize("text", whole("checkpoint.path:"))
def test_an_example_of_the_sinks_configuration_loads(text: str, tmp_path: Path) -> None:
    example = tmp_path / "sink.yml"
    example.write_text(text)
    load(example, SinkConfig)


def literals(package: str) -> Iterator[str]:
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_a_message_that_a_page_quotes_is_one_of_the_sink() -> None:
    messages = set(literals("spark_sink"))
    for name, quotes in QUOTED.items():
        page = (ROOT / "docs" / name).read_text()
        for quote in quotes:
            assert quote in page, name
            assert any(quote in message for message in messages), f"{name} quotes {quote!r}"


def test_the_readme_is_read_in_one_go() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= MAX_README_LINES, "details belong on a page of docs/"
