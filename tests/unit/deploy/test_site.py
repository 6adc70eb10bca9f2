"""The site of docs/ is built without a warning, loads nothing from elsewhere, and a dead link is an error."""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from deploy.site.command_line import page

ROOT = Path(__file__).parents[3]

REMOTE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\"(?:https?:)?//[^>]*>")
PAGE = """# Page

[dead link](missing.md), [dead anchor](page.md#missing), [no such file](../tests/missing.py),
[`proof`](../tests/proof.py), [proof.py](../tests/proof.py).

| code | text |
|---|---|
| `a\\|b` | c |
"""


def build(config: Path, directory: Path) -> subprocess.CompletedProcess[str]:
    """Build a site as script/docs does."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        [*command, "--site-dir", str(directory)], capture_output=True, text=True, check=False, env=environment
    )


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    done = build(ROOT / "mkdocs.yml", tmp_path)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith("INFO ")] == []
    pages = [path.read_text() for path in tmp_path.rglob("*.html")]
    assert len(pages) > 25
    assert [tag for text in pages for tag in REMOTE.findall(text)] == []


def test_a_dead_link_a_dead_anchor_and_a_page_without_a_place_fail_the_build(tmp_path: Path) -> None:
    for directory, name, text in (
        ("docs", "page.md", PAGE),
        ("docs", "unlisted.md", "# Unlisted\n"),
        ("tests", "proof.py", ""),
    ):
        (tmp_path / directory).mkdir(exist_ok=True)
        (tmp_path / directory / name).write_text(text)
    config = tmp_path / "mkdocs.yml"
    parts = {"INHERIT": str(ROOT / "mkdocs.yml"), "docs_dir": "docs", "nav": ["page.md"]}
    config.write_text(yaml.safe_dump({**parts, "hooks": [str(ROOT / "deploy" / "site" / "links.py")]}))
    done = build(config, tmp_path / "site")
    assert done.returncode == 1
    assert [
        warning
        for warning in ("missing.md", "page.md#missing", "../tests/missing.py", "unlisted.md")
        if warning not in done.stderr
    ] == []


def test_the_page_of_the_command_line_is_the_one_that_the_parsers_write() -> None:
    written = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    assert written == page(), "write it again: python -m deploy.site.command_line > docs/reference/command-line.md"
