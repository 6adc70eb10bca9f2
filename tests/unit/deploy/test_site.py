"""The site of docs/ is built without a warning, loads nothing from elsewhere, and a dead link is an error."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import yaml

from deploy.site.command_line import page as command_line_page
from deploy.site.links import on_page_markdown

ROOT = Path(__file__).parents[3]

REMOTE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\"(?:https?:)?//[^>]*>")
PAGE = """# Page

[dead link](missing.md), [dead anchor](page.md#missing), [no such file](../tests/missing.py).
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
    docs = tmp_path / "docs"
    docs.mkdir()
    links = f"[page]({docs.name}/page.md), [outside]({docs.name}/outside.md), [absent](absent.py)"
    (tmp_path / "README.md").write_text(f"# Start\n\n{links}\n")
    (docs / "page.md").write_text(PAGE)
    (docs / "unlisted.md").write_text("# Unlisted\n")
    config = tmp_path / "mkdocs.yml"
    parts = {"INHERIT": str(ROOT / "mkdocs.yml"), "docs_dir": "docs", "nav": ["index.md", "page.md"]}
    config.write_text(yaml.safe_dump({**parts, "hooks": [str(ROOT / "deploy" / "site" / "links.py")]}))
    done = build(config, tmp_path / "site")
    assert done.returncode == 1
    dead = ("missing.md", "page.md#missing", "../tests/missing.py", "unlisted.md", "outside.md", "../absent.py")
    assert [warning for warning in dead if warning not in done.stderr] == []
    assert f"{docs.name}/page.md" not in done.stderr, "the link of README.md leads to it"


def test_links_to_files_outside_the_site_become_text() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="guides/page.md"))
    config = SimpleNamespace(docs_dir=str(ROOT / "docs"))

    def shown(markdown: str) -> str:
        return on_page_markdown(markdown, page=page, config=config)

    assert shown("[the units](../../deploy/systemd), [deploy/systemd](../../deploy/systemd#units)") == (
        "the units (`deploy/systemd`), `deploy/systemd`"
    )
    assert shown("[Files](../explained/files.md#links)") == "[Files](../explained/files.md#links)"


def test_a_pipe_in_the_code_of_a_table_is_shown_alone() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="page.md"))
    config = SimpleNamespace(docs_dir=str(ROOT / "docs"))
    assert on_page_markdown("| `a\\|b` | c\\|d |\n`e\\|f`", page=page, config=config) == "| `a|b` | c\\|d |\n`e\\|f`"


def test_the_page_of_the_command_line_is_the_one_that_the_parsers_write() -> None:
    written = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    assert written == command_line_page(), (
        "write it again: python -m deploy.site.command_line > docs/reference/command-line.md"
    )
