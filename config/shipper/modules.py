"""Filebeat's modules. None is supported, so that an enabled one is an error: nothing would read its files."""

from collections.abc import Iterable, Iterator

from config.shipper import included
from config.yaml import document
from config.yaml.composing import Budget
from config.yaml.errors import ConfigError, Problem
from config.yaml.load import RawConfig
from config.yaml.scalars import is_false
from config.yaml.tree import ListNode, Node, Scalar, Section

LISTED = "filebeat.modules"
IN_FILES = "filebeat.config.modules"
_NOT_FILESETS = ("module", "enabled", "path", "input")


def check(raw: RawConfig) -> None:
    """Add a problem for each enabled module, here and in the files of `filebeat.config.modules`."""
    node = included.node_at(raw.root, LISTED)
    if isinstance(node, ListNode):
        raw.problems.extend(_enabled(node.items, LISTED))
    section = included.node_at(raw.root, IN_FILES)
    rules = None if section is None else raw.part(included.ConfigInputs, section)
    if rules is None or not rules.path:
        return
    budget = Budget()
    for file in included.with_absolute_path(raw.env["path.config"], rules).files():
        try:
            items = document.read_list(file, raw.problems, budget, "modules, each beginning with '- module:'").items
        except ConfigError as error:
            raw.problems.extend(error.problems)
        else:
            raw.problems.extend(_enabled(items, IN_FILES))


def _enabled(items: Iterable[Node], path: str) -> Iterator[Problem]:
    for index, item in enumerate(items):
        if not isinstance(item, Section):
            continue
        children = item.children(lambda *_: None)
        named = children.get("module")
        filesets = [node for key, node in children.items() if key not in _NOT_FILESETS]
        if not isinstance(named, Scalar) or _is_off(item) or (filesets and all(map(_is_off, filesets))):
            continue
        words = (
            f"module {named.text} is enabled, and modules are not supported: its files would not be read; write an "
            f"input with their paths, and processors for what it parses, or set enabled: false"
        )
        if _reads_journal(item):
            words += "; instead of var.use_journald, write an input of type: journald"
        yield Problem(item.place.file, named.place.line, f"{path}[{index}]", words)


def _reads_journal(item: Section) -> bool:
    """True if a fileset is to read the journal: `var.use_journald`, as in module system."""
    return any(
        isinstance(value, Scalar) and not is_false(value)
        for key, fileset in item.children(lambda *_: None).items()
        if key not in _NOT_FILESETS and isinstance(fileset, Section)
        for value in [fileset.children(lambda *_: None).get("var.use_journald"), _in_var(fileset)]
    )


def _in_var(fileset: Section) -> Node | None:
    var = fileset.children(lambda *_: None).get("var")
    return var.children(lambda *_: None).get("use_journald") if isinstance(var, Section) else None


def _is_off(node: Node) -> bool:
    enabled = node.children(lambda *_: None).get("enabled") if isinstance(node, Section) else None
    return isinstance(enabled, Scalar) and is_false(enabled)
