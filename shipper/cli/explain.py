"""The effective configuration, for `shipper test config --explain`: each input with its current files, readers and
processors, in order.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import is_dataclass
from typing import Any, get_args

from log_shipper.config.text.secrets import hidden, without_passwords
from log_shipper.config.text.units import Duration, readable_duration
from log_shipper.config.yaml.schema import Option, options
from log_shipper.runtime.logs.visible import visible
from log_shipper.shipper.inputs.files.discovery.scanner import Inode, Scanner
from log_shipper.shipper.options.conditions import ConditionConfig, flat
from log_shipper.shipper.options.feeds import FeedConfig
from log_shipper.shipper.options.model import InputConfig, ShipperConfig
from log_shipper.shipper.options.parsers import PARSERS
from log_shipper.shipper.options.processors import AnyProcessor, Branch
from log_shipper.shipper.outputs.base import kind_of

COLUMN = 12


def explain(config: ShipperConfig, secrets: Collection[str] = ()) -> Iterator[str]:
    """Yield lines of text without these secrets and without passwords in addresses. Reads the file system."""
    for line in _lines(config):
        yield without_passwords(hidden(line, secrets))


def _lines(config: ShipperConfig) -> Iterator[str]:
    for config_input in config.inputs:
        yield f"input {config_input.id} (type {config_input.type}{'' if config_input.enabled else ', disabled'})"
        if isinstance(config_input, FeedConfig):
            yield from _rows("reads", config_input.reads)
        else:
            if config_input.type != "stdin":
                yield from _rows("files", _files(config_input))
            lines = f"encoding {config_input.encoding}, line_terminator {config_input.line_terminator}"
            yield from _rows("lines", [lines])
        yield from _rows("parsers", [_called(name_of(parser), parser) for parser in config_input.parsers])
        yield from _rows("limit", [f"{_size(config_input.message_max_bytes)} per message"])
        if not isinstance(config_input, FeedConfig):
            yield from _rows("filters", _filters(config_input))
        yield from _rows("processors", _numbered((*config_input.processors, *config.processors)))
    included = config.config_inputs
    if included.enabled and included.path:
        checked = f", checked every {readable_duration(included.reload.period)}" if included.reload.enabled else ""
        yield f"inputs from {included.path}: {_count(len(included.files()), 'file')} now{checked}"
    for provider in config.autodiscover.providers:
        hints = ", and by hints" if provider.built_by_hints.enabled else ""
        yield f"inputs for {provider.type} containers, by {_count(len(provider.templates), 'template')}{hints}"
    yield f"output {kind_of(config).describe()}"


def _rows(title: str, rows: Iterable[str]) -> Iterator[str]:
    """Yield the rows, with the title beside the first."""
    for number, row in enumerate(rows):
        yield f"  {title if not number else '':{COLUMN}}{row}"


def _files(config_input: InputConfig) -> Iterator[str]:
    scanner = config_input.prospector.scanner
    files: set[Inode] = set()
    for pattern in config_input.paths:
        listing = Scanner((pattern,), scanner).scan(full=True)
        files |= listing.files.keys()
        size = sum(file.size for file in listing.files.values())
        unreadable = sum(not os.access(file.path, os.R_OK, effective_ids=True) for file in listing.files.values())
        of_them = f", {unreadable:,} of them unreadable for this user" if unreadable else ""
        yield f"{pattern}: {_count(len(listing.files), 'file')}{f', {_size(size)}' if size else ''} now{of_them}"
        yield from (f"  {visible(path)}: {problem}" for path, problem in (listing.unmatched | listing.problems).items())
    if len(config_input.paths) > 1:
        yield f"total {_count(len(files), 'file')}"


def _filters(config_input: InputConfig) -> Iterator[str]:
    for name, patterns in (
        ("include_lines", config_input.include_lines),
        ("exclude_lines", config_input.exclude_lines),
    ):
        if patterns:
            yield f"{name} {' or '.join(map(_quoted, patterns))}"


def _numbered(processors: Iterable[AnyProcessor]) -> Iterator[str]:
    for number, processor in enumerate(processors, start=1):
        for index, line in enumerate(_processor(processor)):
            yield f"{number:>2}  {line}" if not index else f"    {line}"


def _processor(processor: AnyProcessor) -> Iterator[str]:
    if isinstance(processor, Branch):
        for word, listed in ((f"if {_condition(processor.condition)}", processor.then), ("else", processor.otherwise)):
            if listed:
                yield word
                yield from (f"  {line}" for inner in listed for line in _processor(inner))
    else:
        when = f" when {_condition(processor.when)}" if processor.when else ""
        yield _called(processor.name, processor) + when


def _condition(condition: ConditionConfig) -> str:
    ((option, value),) = (
        (candidate, getattr(condition, candidate.name))
        for candidate in options(ConditionConfig)
        if getattr(condition, candidate.name) != candidate.default
    )
    match option.keys[0]:
        case "and" | "or" as word:
            return "(" + f" {word} ".join(map(_condition, value)) + ")"
        case "not":
            return f"not {_condition(value)}"
        case name:
            return f"{name} {_text(dict(flat(value)) if isinstance(value, dict) else value)}"


def name_of(parser: Any) -> str:
    """Return the name of a parser in YAML."""
    return next(name for name, model in PARSERS.models.items() if isinstance(parser, model))


def _called(name: str, section: Any) -> str:
    """Return the name, and the section's options that differ from their defaults."""
    model: Any = type(section)
    given = [
        f"{option.keys[0]}: {_option(option, getattr(section, option.name))}"
        for option in options(model)
        if option.name != "when" and getattr(section, option.name) != option.default
    ]
    return f"{name} {', '.join(given)}" if given else name


def _option(option: Option, value: Any) -> str:
    is_duration = Duration in (option.hint, *get_args(option.hint))
    return readable_duration(value) if is_duration and value else _text(value)


def _text(value: Any) -> str:
    if is_dataclass(value):
        return "{" + _called("", value).strip() + "}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_text(member)}" for key, member in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(value) if isinstance(value, str) else f"{value}"


def _quoted(text: str) -> str:
    """Return the text in single quotes, where YAML gives backslashes no special meaning."""
    return "'" + text.replace("'", "''") + "'"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _size(size: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"
