"""What a configuration amounts to, for `shipper test config --explain`: for each input its files as they are now, the
readers, and the processors, in the order in which they work."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from typing import Any, get_args

from config.shipper.conditions import ConditionConfig, flat
from config.shipper.model import ConsoleOutputConfig, FileOutputConfig, InputConfig, KafkaOutputConfig, ShipperConfig
from config.shipper.parsers import PARSERS
from config.shipper.processors import AnyProcessor, Branch
from config.text.units import Duration, readable_duration
from config.yaml.schema import Option, options
from logs.visible import visible
from shipper.source.discovery.scanner import FileKey, Scanner, ScanOptions

COLUMN = 12


def explain(config: ShipperConfig) -> Iterator[str]:
    """Lines of text. Looks at the file system, and changes nothing."""
    for each in config.inputs:
        yield f"input {each.id} (type {each.type}{'' if each.enabled else ', not enabled'})"
        if each.type != "stdin":
            yield from _rows("files", _files(each))
        yield from _rows("lines", [f"encoding {each.encoding}, line_terminator {each.line_terminator}"])
        yield from _rows("parsers", [_called(name_of(parser), parser) for parser in each.parsers])
        yield from _rows("limit", [f"{_size(each.message_max_bytes)} a message"])
        yield from _rows("filters", _filters(each))
        yield from _rows("processors", _numbered((*each.processors, *config.processors)))
    included = config.config_inputs
    if included.enabled and included.path:
        looked = f", looked at every {readable_duration(included.reload.period)}" if included.reload.enabled else ""
        yield f"inputs from {included.path}: {_count(len(included.files()), 'file')} now{looked}"
    yield f"output {_output(config)}"


def _rows(title: str, rows: Iterable[str]) -> Iterator[str]:
    """The title once, beside the first row; nothing where there are no rows."""
    for number, row in enumerate(rows):
        yield f"  {title if not number else '':{COLUMN}}{row}"


def _files(each: InputConfig) -> Iterator[str]:
    scanner = each.prospector.scanner
    found: set[FileKey] = set()
    for pattern in each.paths:
        rules = ScanOptions(scanner.exclude_files, scanner.include_files, scanner.symlinks, scanner.recursive_glob)
        listing = Scanner((pattern,), rules).scan(full=True)
        found |= listing.files.keys()
        size = sum(file.size for file in listing.files.values())
        yield f"{pattern}: {_count(len(listing.files), 'file')}{f', {_size(size)}' if size else ''} now"
        yield from (f"  {visible(path)}: {words}" for path, words in listing.problems.items())
    if len(each.paths) > 1:
        yield f"together {_count(len(found), 'file')}"


def _filters(each: InputConfig) -> Iterator[str]:
    for name, patterns in (("include_lines", each.include_lines), ("exclude_lines", each.exclude_lines)):
        if patterns:
            yield f"{name} {' or '.join(map(_quoted, patterns))}"


def _numbered(processors: Iterable[AnyProcessor]) -> Iterator[str]:
    for number, each in enumerate(processors, start=1):
        for at, line in enumerate(_processor(each)):
            yield f"{number:>2}  {line}" if not at else f"    {line}"


def _processor(each: AnyProcessor) -> Iterator[str]:
    if isinstance(each, Branch):
        for word, listed in ((f"if {_condition(each.condition)}", each.then), ("else", each.otherwise)):
            if listed:
                yield word
                yield from (f"  {line}" for one in listed for line in _processor(one))
    else:
        when = f" when {_condition(each.when)}" if each.when else ""
        yield _called(each.name, each) + when


def _condition(condition: ConditionConfig) -> str:
    ((option, value),) = (
        (each, getattr(condition, each.name))
        for each in options(ConditionConfig)
        if getattr(condition, each.name) != each.default
    )
    match option.keys[0]:
        case "and" | "or" as word:
            return "(" + f" {word} ".join(map(_condition, value)) + ")"
        case "not":
            return f"not {_condition(value)}"
        case name:
            return f"{name} {_text(dict(flat(value)) if isinstance(value, dict) else value)}"


def name_of(parser: Any) -> str:
    """The name of a parser in YAML."""
    return next(name for name, model in PARSERS.models.items() if isinstance(parser, model))


def _called(name: str, section: Any) -> str:
    """A section's options that are not as they are by default."""
    model: Any = type(section)
    given = [
        f"{each.keys[0]}: {_option(each, getattr(section, each.name))}"
        for each in options(model)
        if each.name != "when" and getattr(section, each.name) != each.default
    ]
    return f"{name} {', '.join(given)}" if given else name


def _option(option: Option, value: Any) -> str:
    is_duration = Duration in (option.hint, *get_args(option.hint))
    return readable_duration(value) if is_duration and value else _text(value)


def _text(value: Any) -> str:
    if is_dataclass(value):
        return "{" + _called("", value).strip() + "}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(value) if isinstance(value, str) else f"{value}"


def _quoted(text: str) -> str:
    """As in YAML, where a backslash is just itself."""
    return "'" + text.replace("'", "''") + "'"


def _output(config: ShipperConfig) -> str:
    match config.output.chosen:
        case KafkaOutputConfig() as kafka:
            return f"kafka, topic {kafka.topic} at {', '.join(kafka.hosts)}"
        case FileOutputConfig() as file:
            return f"file {os.path.join(file.path, file.filename)}"
        case ConsoleOutputConfig():
            return "console"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _size(size: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"
