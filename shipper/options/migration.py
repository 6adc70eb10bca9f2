"""Converts a filebeat.yml to current names: the output of `shipper migrate`.

Only renamed options are replaced in the text, so that comments, quotes and order stay. The names are those of
`config.shipper.old_names`, which replaces them in the tree when a configuration is read, and those that another input
type has for the same option. With `strict`, the result has `shipper.*` names, which turn mistakes into errors, and no
Filebeat-only options.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from log_shipper.config.yaml.composing import Composer
from log_shipper.config.yaml.errors import ConfigError, Problem
from log_shipper.config.yaml.files import read_bytes
from log_shipper.shipper.options.filebeat import FILESTREAM_NAMES, LOG_NAMES, ROOT_IGNORED
from log_shipper.shipper.options.input_ids import derived_id
from log_shipper.shipper.options.modules import IN_FILES, LISTED
from log_shipper.shipper.options.old_names import DOCKER_FILES, RENAMED, RENAMED_OF_INPUT

_INPUTS = ("filebeat.inputs", "filebeat.prospectors")
_CONTAINERS = "containers"
_MODULES = (LISTED, IN_FILES)  # they keep their names: their result is Filebeat's
_UNUSED = tuple(name for name in ROOT_IGNORED if name not in _MODULES)
# Names of options of other types; where the form differs, too, the user has to convert it.
_NAMES_HERE = {
    kind: {name: here for name, here in names.items() if " " not in here and here not in ("multiline", "parsers")}
    for kind, names in {"filestream": FILESTREAM_NAMES, "log": LOG_NAMES, "container": LOG_NAMES}.items()
}


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of the text between two indices."""

    start: int
    end: int
    text: str
    line: int
    what: str


@dataclass(frozen=True, slots=True)
class Migrated:
    text: str
    changes: tuple[str, ...]  # each with its line


def migrate(file: Path, *, strict: bool = False) -> Migrated:
    """Return the configuration, or the list of inputs, with current names. Raises ConfigError for invalid YAML."""
    try:
        text = read_bytes(file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError([Problem(str(file), 0, "", f"is not UTF-8 text: {error.reason}")]) from error
    Composer(str(file), []).compose(text)  # reports invalid YAML with its line, and nesting that is too deep
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    edits: list[Edit] = []
    if isinstance(root, yaml.MappingNode):
        edits = list(_edits(root, "", frozenset(_names(root, "")), strict=strict))
    elif isinstance(root, yaml.SequenceNode):
        edits = list(_of_inputs(root))
    edits.sort(key=lambda edit: (edit.start, edit.end))
    return Migrated(_edited(text, edits), tuple(f"{file}:{edit.line}: {edit.what}" for edit in edits if edit.what))


def _edited(text: str, edits: list[Edit]) -> str:
    pieces, position = [], 0
    for edit in edits:
        pieces += [text[position : edit.start], edit.text]  # empty where the previous edit ends after this start
        position = max(position, edit.end)
    return "".join([*pieces, text[position:]])


def _edits(section: yaml.MappingNode, prefix: str, written: frozenset[str], *, strict: bool) -> Iterator[Edit]:
    """Yield the edits of a section. `written` holds the names of all options outside inputs."""
    for key, value in section.value:
        name = prefix + key.value
        if strict and _is_below(name, _UNUSED):
            yield _removal(section, key, value, f"{name} is removed: the shipper does not use it")
            continue
        old = next((old for old in RENAMED if _is_below(name, [old])), None)
        if name in _INPUTS and isinstance(value, yaml.SequenceNode):
            yield from _of_inputs(value)
        if old is None and isinstance(value, yaml.MappingNode):
            yield from _edits(value, f"{name}.", written, strict=strict)
        today = name
        if old is not None and RENAMED[old] not in written:  # otherwise the user has to remove one of the two
            today = RENAMED[old] + name.removeprefix(old)
        if strict and not prefix and not any(_is_below(module, [name]) for module in written if module in _MODULES):
            today = re.sub(r"^filebeat(?=\.|$)", "shipper", today)
        if today != name:
            what = f"{old or name} is renamed to {RENAMED[old] if old and not strict else today}"
            yield _renaming(key, today.removeprefix(prefix), what)


def _is_below(name: str, options: Iterable[str]) -> bool:
    """Return True for one of these options and their members."""
    return any(name == option or name.startswith(f"{option}.") for option in options)


def _names(section: yaml.MappingNode, prefix: str) -> Iterator[str]:
    for key, value in section.value:
        yield prefix + key.value
        if isinstance(value, yaml.MappingNode):
            yield from _names(value, f"{prefix}{key.value}.")


def _of_inputs(inputs: yaml.SequenceNode) -> Iterator[Edit]:
    for item in inputs.value:
        if isinstance(item, yaml.MappingNode):
            yield from _Input(item).edits()


class _Input:
    """The edits of one input."""

    def __init__(self, node: yaml.MappingNode) -> None:
        self._options = {key.value: value for key, value in node.value}
        self._node = node
        self._entries = node.value
        # The separator of options: a comma within braces, else a new line with their indentation.
        self._next = ", " if node.flow_style else "\n" + " " * node.start_mark.column
        self._type = self._options.get("type", self._options.get("input_type"))
        is_docker = self._type is not None and self._type.value == "docker"
        self._names_here = _NAMES_HERE.get(self._type.value if self._type is not None else "log", {})
        names = self._options if is_docker else ()
        self._containers = [name for name in names if name.partition(".")[0] == _CONTAINERS]

    def edits(self) -> Iterator[Edit]:
        if self._entries and self._type is None:
            yield self._added("type: log", "input without type becomes type: log")
        elif self._type is not None and self._type.value == "filestream" and "id" not in self._options:
            yield from self._id()
        for key, value in self._entries:
            match key.value:
                case "type" | "input_type" if value.value == "docker":
                    added = "" if self._containers or "paths" in self._options else self._next + self._paths()
                    yield _entry(key, value, f"type: container{added}", "type: docker becomes type: container")
                case name if name in RENAMED_OF_INPUT:
                    yield from self._renamed(key, value)
                case "document_type" if value.value:
                    yield from self._document_type(key, value)
                case "take_over" if isinstance(value, yaml.ScalarNode) and value.value:
                    yield _entry(
                        key, value, f"take_over.enabled: {_source(value)}", "take_over becomes take_over.enabled"
                    )
                case "include_matches" if isinstance(value, yaml.SequenceNode):
                    yield _renaming(key, "include_matches.match", "include_matches becomes include_matches.match")
                case "combine_partials":
                    yield self._removed(key, value, "combine_partials is removed: it is always on")
                case name if name in self._names_here:
                    yield self._named(key, value, self._names_here[name])
                case name if name in self._containers and name == self._containers[0]:
                    yield _entry(key, value, self._next.join([self._paths(), *self._stream()]), f"{name} becomes paths")
                case name if name in self._containers:
                    yield self._removed(key, value, "")

    def _named(self, key: yaml.ScalarNode, value: yaml.Node, here: str) -> Edit:
        what = f"{key.value} is renamed to {here} for this input type. Filebeat ignores it; the shipper applies it"
        if here in self._options:
            return self._removed(key, value, f"{key.value} is removed: {here} is already set")
        return _renaming(key, here, what)

    def _id(self) -> Iterator[Edit]:
        paths = self._options.get("paths")
        written = paths.value if isinstance(paths, yaml.SequenceNode) else [paths] if paths else []
        texts = tuple(item.value for item in written if isinstance(item, yaml.ScalarNode))
        if texts and not any("${" in text for text in texts):  # otherwise the id would not match the paths
            derived = derived_id("filestream", texts)
            yield self._added(f"id: {derived}", f"filestream without id gets the id {derived}")

    def _renamed(self, key: yaml.ScalarNode, value: yaml.Node) -> Iterator[Edit]:
        today = [name for name in RENAMED_OF_INPUT[key.value] if name not in self._options]
        what = f"{key.value} becomes {' and '.join(RENAMED_OF_INPUT[key.value])}"
        if today:
            yield _entry(key, value, self._next.join(f"{name}: {_source(value)}" for name in today), what)
        else:
            yield self._removed(key, value, what)

    def _document_type(self, key: yaml.ScalarNode, value: yaml.Node) -> Iterator[Edit]:
        what = "document_type becomes the processor add_fields"
        processor = f"add_fields: {{target: '', fields.type: {_source(value)}}}"
        before = self._options.get("processors")
        if not isinstance(before, yaml.SequenceNode):
            # A single processor, or none: a list has both.
            rest = f", {{{_source(before).strip('{}')}}}" if isinstance(before, yaml.MappingNode) else ""
            yield _entry(key, value, f"processors: [{{{processor}}}{rest}]", what)
            yield from (self._removed(key, value, "") for key, value in self._entries if key.value == "processors")
            return
        yield self._removed(key, value, what)
        start = before.start_mark
        if before.flow_style:
            text = f"{{{processor}}}{', ' if before.value else ''}"
            yield Edit(start.index + 1, start.index + 1, text, start.line + 1, "")
        else:
            text = f"- {processor}\n{' ' * start.column}"
            yield Edit(start.index, start.index, text, start.line + 1, "")

    def _paths(self) -> str:
        ids = self._of_containers("ids")
        names = [item.value for item in ids.value] if isinstance(ids, yaml.SequenceNode) else [ids.value] if ids else []
        path = self._of_containers("path")
        root = path.value.rstrip("/") if path else DOCKER_FILES
        return "paths: [" + ", ".join(f"'{root}/{name}/*.log'" for name in names or ["*"]) + "]"

    def _stream(self) -> Iterator[str]:
        stream = self._of_containers("stream")
        if stream is not None:
            yield f"stream: {_source(stream)}"

    def _of_containers(self, name: str) -> Any:
        section = self._options.get(_CONTAINERS)
        below = section.value if isinstance(section, yaml.MappingNode) else []
        named = {f"{_CONTAINERS}.{key.value}": value for key, value in below} | self._options
        return named.get(f"{_CONTAINERS}.{name}")

    def _added(self, option: str, what: str) -> Edit:
        """Return the edit that inserts an option before the first one."""
        start = self._entries[0][0].start_mark
        return Edit(start.index, start.index, option + self._next, start.line + 1, what)

    def _removed(self, key: yaml.ScalarNode, value: yaml.Node, what: str) -> Edit:
        return _removal(self._node, key, value, what)


def _removal(section: yaml.MappingNode, key: yaml.ScalarNode, value: yaml.Node, what: str) -> Edit:
    """Return the edit that removes an option, with its line or its separator."""
    text: str = key.start_mark.buffer or ""
    position = next(index for index, (other, _) in enumerate(section.value) if other is key)
    start, end = key.start_mark.index, _end(value)
    line = text.rfind("\n", 0, start) + 1
    if not section.flow_style and not text[line:start].strip():
        line_end = text.find("\n", end) + 1
        return Edit(line, line_end or end, "", key.start_mark.line + 1, what)
    if position + 1 < len(section.value):
        end = section.value[position + 1][0].start_mark.index
    elif position:
        start = _end(section.value[position - 1][1])
    return Edit(start, end, "", key.start_mark.line + 1, what)


def _renaming(key: yaml.ScalarNode, name: str, what: str) -> Edit:
    return Edit(key.start_mark.index, key.end_mark.index, name, key.start_mark.line + 1, what)


def _entry(key: yaml.ScalarNode, value: yaml.Node, text: str, what: str) -> Edit:
    """Return the edit that replaces an option."""
    return Edit(key.start_mark.index, _end(value), text, key.start_mark.line + 1, what)


def _end(node: yaml.Node) -> int:
    """Return the index after a node. PyYAML ends a block where the next one begins, after comments."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        end: int = node.end_mark.index
        return end
    last = node.value[-1]
    return _end(last[1] if isinstance(node, yaml.MappingNode) else last)


def _source(node: yaml.Node) -> str:
    """Return the source text of a node."""
    text: str = node.start_mark.buffer or ""
    return text[node.start_mark.index : _end(node)]
