"""`dissect`: splits a text at fixed delimiters.

The tokenizer becomes one regular expression of possessive parts: each matches up to the next delimiter and never
backtracks. So matching takes linear time and gives the result of a search for one delimiter after the other, in half
the time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from log_shipper.config.text.checks import not_blank, parses
from log_shipper.config.text.tokenizer import Key, parse_tokenizer
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext, ProcessorError
from log_shipper.shipper.processor.conversions import FROM_TEXT
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import MISSING, Path, path_of, roots
from log_shipper.shipper.processor.parsing.placement import Placement, put_all


@dataclass(frozen=True, slots=True, kw_only=True)
class DissectConfig(ProcessorConfig):
    """Splits a string at the delimiters of a tokenizer."""

    name: ClassVar = "dissect"
    example: ClassVar = """
        dissect: {tokenizer: '%{method} %{path} %{status|integer}', target_prefix: http} -> {message: GET /cart 200}
          -> {message: GET /cart 200, http: {method: GET, path: /cart, status: 200}}
    """
    tokenizer: str = field(
        metadata={"doc": "Delimiters and %{keys}; each key becomes a field.", "check": parses(parse_tokenizer)}
    )
    source: str = field(
        default="message", metadata={"key": "field", "doc": "The field with the text.", "check": not_blank}
    )
    target_prefix: str = field(
        default="dissect", metadata={"doc": "The object that the keys are added to; the event itself when empty."}
    )
    ignore_failure: bool = field(
        default=False,
        metadata={"doc": "Whether a string that does not match is not an error; log.flags is set in any case."},
    )
    overwrite_keys: bool = field(default=False, metadata={"doc": "Whether existing fields are overwritten."})
    trim_values: Literal["none", "left", "right", "all"] = field(
        default="none", metadata={"doc": "The sides on which the characters of trim_chars are removed from values."}
    )
    trim_chars: str = field(default=" ", metadata={"doc": "The characters to remove."})

    def build(self, _: ProcessorContext) -> EventProcessor:
        return Dissect(self)


PARSING_ERROR = "dissect_parsing_error"
# A name from a text is split into at most this many objects: a text could otherwise create any number.
_DEEPEST = 16
_STRIP = {"left": str.lstrip, "right": str.rstrip, "all": str.strip}


class Dissect:
    def __init__(self, config: DissectConfig) -> None:
        keys = parse_tokenizer(config.tokenizer)
        self._field = path_of(config.source)
        self._prefix: Path = path_of(config.target_prefix) if config.target_prefix else ()
        self._overwrite = config.overwrite_keys
        self._strip = _STRIP.get(config.trim_values)
        self._chars = config.trim_chars
        kept = [key for key in keys if key.kind != "skip"]
        self._match = re.compile(_expression(keys), re.DOTALL).match
        self._resolve = None if _simple(kept) else Resolve(kept)
        self._conversions = [FROM_TEXT.get(key.type) for key in kept] if any(key.type for key in kept) else None
        # `&` keys take their names from the text.
        self._dynamic = any(key.kind == "indirect" for key in kept)
        names = list(dict.fromkeys(key.name for key in kept if key.kind in ("plain", "append")))
        paths = [(*self._prefix, *path_of(name)) for name in names]
        self._placement = None if self._dynamic else Placement(paths, overwrite=self._overwrite)
        written = [self._prefix] if self._dynamic else paths
        self._touches = roots(self._field, *written) if all(written) else None

    @property
    def touches(self) -> frozenset[str] | None:
        return self._touches

    def apply(self, event: Event) -> None:
        text = event.get(self._field)
        if not isinstance(text, str):
            what = "is missing" if text is MISSING else "is not a string"
            raise ProcessorError(f"field {'.'.join(self._field)} {what}")
        matched = self._match(text) if text else None
        if matched is None:
            event.flag(PARSING_ERROR)
            raise ProcessorError(f"field {'.'.join(self._field)} does not match the tokenizer")
        values: Sequence[Any] = matched.groups()
        if self._strip is not None:
            values = [self._strip(value, self._chars) for value in values]
        if self._resolve is not None:
            self._put(event, self._resolve(values))
            return
        if self._conversions is not None:
            values = [value if c is None else c(value) for value, c in zip(values, self._conversions, strict=True)]
        assert self._placement is not None, "names from the text need resolving"
        self._placement.write(event, values)

    def _put(self, event: Event, named: dict[str, Any]) -> None:
        if self._placement is not None:
            self._placement.write(event, list(named.values()))
            return
        paths = [(*self._prefix, *(path_of(name) if name.count(".") < _DEEPEST else (name,))) for name in named]
        put_all(event, paths, list(named.values()), overwrite=self._overwrite)


class Resolve:
    """Resolves keys that are appended to each other, or that name each other; returns the values by name."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._steps = sorted(enumerate(keys), key=lambda step: step[1].order)
        self._names = list(dict.fromkeys(key.name for key in keys if key.kind in ("plain", "append")))

    def __call__(self, values: Sequence[str]) -> dict[str, Any]:
        # In the order of the tokenizer, not of appending.
        named: dict[str, Any] = dict.fromkeys(self._names, "")
        taken: dict[str, str] = {}
        types: dict[str, str] = {}
        for index, key in self._steps:
            value, name = values[index], key.name
            if key.kind == "append" and name in taken:
                value = taken[name] + (key.before or " ") + value
            elif key.kind == "indirect":
                name = taken.get(name, name)
            taken[name] = value
            if key.kind != "name":
                named[name] = value
                types[name] = key.type
        return {name: FROM_TEXT[types[name]](value) if types[name] else value for name, value in named.items()}


def _simple(keys: Sequence[Key]) -> bool:
    """Return True if each key has its own value."""
    return all(key.kind == "plain" for key in keys) and len({key.name for key in keys}) == len(keys)


def _expression(keys: Sequence[Key]) -> str:
    return re.escape(keys[0].before) + "".join(map(_part, keys))


def _part(key: Key) -> str:
    opening = "(?:" if key.kind == "skip" else "("
    literal = re.escape(key.after)
    # Padding repeats the delimiter if that is one character, as in Filebeat: ", " is never padding.
    padding = f"{re.escape(key.after[0])}*+" if key.padded and len(set(key.after)) == 1 else ""
    if key.length:
        end = r"\Z" if key.last else ""
        return f"{opening}.{{{key.length}}}){literal}{padding}{end}"
    if key.last:
        return f"{opening}.*+)"
    if not key.after:
        return f"{opening})"  # no delimiter before the next key: it matches nothing
    if len(key.after) == 1:
        return f"{opening}[^{literal}]*+){literal}{padding}"
    return f"(?>{opening}.*?){literal}){padding}"
