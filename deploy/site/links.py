"""A hook of mkdocs that shows pages as GitHub does, with README.md as the first one.

Links to files outside docs/ become text, because the site does not contain these files.
"""

import logging
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

_README_PATH = re.compile(r"(?<=\]\()(?!https?:|#)(docs/)?")
_LINK = re.compile(r"\[([^\]]*)\]\((\.\./[^)#\s]*)(?:#[^)\s]*)?\)")
_CODE = re.compile(r"`[^`]*`")
_log = logging.getLogger("mkdocs.hooks.links")


def on_files(files: Files, *, config: Any) -> Files:
    """Add README.md, with its paths as seen from docs/."""
    readme = (Path(config.docs_dir).parent / "README.md").read_text()
    page = _README_PATH.sub(lambda path: "" if path[1] else "../", readme)
    files.append(File.generated(config, "index.md", content=page))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Return the page for the site. A link to a missing file is a warning, which fails a strict build."""
    docs = Path(config.docs_dir).resolve()
    here = docs / Path(page.file.src_uri).parent

    def for_site(link: re.Match[str]) -> str:
        text, goal = link[1], (here / link[2]).resolve()
        if goal.is_relative_to(docs) or not goal.is_relative_to(docs.parent):
            return link[0]
        if not goal.exists():
            _log.warning("%s: no file for the link %s", page.file.src_uri, link[2])
        path = f"`{goal.relative_to(docs.parent)}`"
        return path if text.strip("`") in path else f"{text} ({path})"

    return _with_pipes(_LINK.sub(for_site, markdown))


def _with_pipes(markdown: str) -> str:
    r"""Return the page with code in tables as python-markdown reads it: GitHub needs `\|` there for `|`."""
    lines = markdown.split("\n")
    return "\n".join(
        _CODE.sub(lambda code: code[0].replace("\\|", "|"), line) if line.startswith("|") else line for line in lines
    )
