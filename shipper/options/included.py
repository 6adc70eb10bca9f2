"""`config.inputs`: inputs in separate files, each a list as below `filebeat.inputs`.

They are appended to the configuration's own inputs before it is read, so that checks see one list. Each keeps its file
and line.
"""

import glob
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.digests import blake2
from log_shipper.config.text.units import Duration
from log_shipper.config.yaml import document
from log_shipper.config.yaml.composing import Budget
from log_shipper.config.yaml.errors import ConfigError, Problem
from log_shipper.config.yaml.files import read_bytes
from log_shipper.config.yaml.tree import Entry, ListNode, Node, Scalar, Section, as_list, is_null

SECTIONS = ("filebeat.config.inputs", "shipper.config.inputs")
INPUTS = ("filebeat.inputs", "shipper.inputs")
Content = tuple[bytes, int, int] | str  # digest, mode and owner; or why it is unreadable
_LAST = 2**31  # higher than all other ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadConfig:
    since: ClassVar = "0.3"
    enabled: bool = field(default=False, metadata={"doc": "Applies changes to these files without a restart."})
    period: Duration = field(default=10.0, metadata={"doc": "How often the files are checked for changes.", "min": 0.1})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigInputs:
    """The files to include; `path` is absolute once the whole configuration has been read."""

    since: ClassVar = "0.3"
    enabled: bool = field(default=True, metadata={"doc": "Whether input files are loaded."})
    path: str | None = field(
        default=None,
        metadata={
            "doc": "Files with lists of inputs: a glob, relative to path.config (by default the directory of the "
            "configuration file).",
            "check": not_blank,
        },
    )
    reload: ReloadConfig = field(default_factory=ReloadConfig)

    def check(self) -> Iterator[Finding]:
        if self.reload.enabled and self.path is None:
            yield "path", "missing; name the files to load, as in 'path: inputs.d/*.yml'"

    @property
    def files_wanted(self) -> bool:
        return self.enabled and self.path is not None

    @property
    def reloads(self) -> bool:
        return self.enabled and self.reload.enabled

    def files(self) -> list[Path]:
        """Return the existing files, sorted by name."""
        return [Path(name) for name in sorted(glob.glob(self.path))] if self.enabled and self.path else []

    def contents(self) -> dict[Path, Content]:
        """Return what reveals a change of the files: their content, and who may write them."""
        return {file: _content(file) for file in self.files()}


def _content(file: Path) -> Content:
    try:
        status = file.stat()
        digest = blake2(read_bytes(file))
    except (OSError, ConfigError) as error:
        return str(error)
    return digest, status.st_mode, status.st_uid


def with_path(root: Section, section: str, path: str) -> Section:
    """Return the tree with another path of included files."""
    entry = Entry(f"{section}.path", Scalar(path.replace("${", "$${"), "str", False, root.place), root.place, _LAST)
    return replace(root, entries=(*root.entries, entry))


def inputs_in(rules: ConfigInputs, problems: list[Problem]) -> list[Node]:
    """Return the inputs of those files. Adds their errors to `problems`."""
    items: list[Node] = []
    budget = Budget()
    for file in rules.files():
        try:
            listed = document.read_list(file, problems, budget, "inputs, each beginning with '- type:'")
        except ConfigError as error:
            problems.extend(error.problems)
        else:
            items += [_named(item, f"[{index}]") for index, item in enumerate(listed.items)]
    return items


def with_inputs(root: Section, key: str, inputs: ListNode) -> Section:
    """Return the tree with these inputs, which replace those written under the key."""
    return replace(root, entries=(*root.entries, Entry(key, inputs, inputs.place, _LAST)))


def _named(item: Node, name: str) -> Node:
    return replace(item, name=name) if isinstance(item, Section) else item


def inputs_of(root: Section) -> tuple[str, ListNode | None]:
    """Return the key of the inputs, and the items below it: none if empty, None if it is not a list."""
    for key in INPUTS:
        node = node_at(root, key)
        if node is not None and not is_null(node):
            return key, as_list(node)
    return INPUTS[0], ListNode((), root.place)


def node_at(root: Section, key: str) -> Node | None:
    """Return the node at a dotted key, or None."""
    node: Node | None = root
    for step in key.split("."):
        node = node.children(lambda *_: None).get(step) if isinstance(node, Section) else None
    return node


def with_absolute_path(folder: str, rules: ConfigInputs) -> ConfigInputs:
    """Return the rules with an absolute path."""
    return replace(rules, path=os.path.abspath(os.path.join(folder, rules.path))) if rules.path else rules


def folders(file: Path) -> Mapping[str, str]:
    """Return the defaults of `path.*`."""
    folder = str(file.absolute().parent)
    return {"path.config": folder, "path.home": folder, "path.data": "data", "path.logs": "logs"}
