"""The page of all options: `python -m config.reference [shipper|sink]` writes it as Markdown, from the models alone."""

import sys
import types
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from config.model import ShipperConfig
from config.patterns import parse_pattern
from config.report import dotted
from config.schema import Kinds, Option, options
from config.sink import SinkConfig
from config.units import Duration, DurationOrNever, Size, parse_duration, parse_duration_or_never, parse_size

_MODELS = {"shipper": ShipperConfig, "sink": SinkConfig}
_UNITS: dict[Any, str] = {
    parse_size: "size",
    parse_duration: "duration",
    parse_duration_or_never: "duration",
    parse_pattern: "pattern",
}
Row = tuple[str, str, str, str]  # option, type, default, meaning

_TITLE = "| option | type | default | |\n|---|---|---|---|\n"


def reference(model: Any) -> str:
    """A Markdown table of a model's options, sections before what is in them."""
    return _TITLE + "".join(f"| {' | '.join(row)} |\n" for row in _rows(model, ""))


def _rows(model: Any, above: str) -> Iterator[Row]:
    for option in options(model):
        path = dotted(above, option.keys[0])
        if not option.section or "doc" in option.about:
            yield f"`{path}`", _type(option.hint) + _unit(option), _default(option), _meaning(option, above)
        below = path + "[]" if option.many else path
        if option.about.get("recursive"):
            continue
        if option.kinds:
            yield from _rows_of_kinds(option.kinds, below)
        elif option.named:
            for name, each in option.named.models.items():
                yield from _rows(each, f"{below}.{name}")
        elif option.section:
            yield from _rows(option.section, below)


def _rows_of_kinds(kinds: Kinds, above: str) -> Iterator[Row]:
    """What is the same in several kinds once, and to which kinds it belongs."""
    owners: dict[Row, list[str]] = {}
    for kind, model in kinds.models.items():
        for row in _rows(model, above):
            owners.setdefault(row, []).append(kind)
    for (path, hint, default, meaning), of in owners.items():
        only = f" (`{kinds.key}: {', '.join(of)}`)" if len(of) < len(kinds.models) else ""
        yield path, hint, default, meaning + only


def _meaning(option: Option, above: str) -> str:
    same = [f"`{dotted(above, key)}`" for key in option.keys[1:]]
    doc: str = option.about.get("doc", "")
    return doc + (f" Also {', '.join(same)}." if same else "")


def _type(hint: Any) -> str:
    origin: Any = get_origin(hint)
    arguments = get_args(hint)
    if origin is Annotated:
        return _UNITS.get(arguments[1]) or _type(arguments[0])
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in arguments if choice)
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return "map"
    if origin in (Union, types.UnionType):
        return _type(arguments[0])
    return {str: "text", int: "number", float: "number", bool: "true or false"}.get(hint, "section")


def _unit(option: Option) -> str:
    return f" of {option.about['unit']}" if "unit" in option.about else ""


def _default(option: Option) -> str:
    if option.required:
        return "required"
    if option.default in (None, (), {}, ""):
        return ""
    return f"`{_text(option.hint, option.default)}`"


def _text(hint: Any, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if hint in (Duration, DurationOrNever):
        return f"{value:g}s"
    if hint == Size:
        return f"{value // 1024**2}MiB" if value and value % 1024**2 == 0 else str(value)
    return str(value)


def main(arguments: Sequence[str]) -> int:
    names = arguments or list(_MODELS)
    for name in names:
        if name not in _MODELS:
            sys.stderr.write(f"no reference of {name!r}; there are: {', '.join(_MODELS)}\n")
            return 2
    sys.stdout.write("\n".join(f"## {name}.yml\n\n{reference(_MODELS[name])}" for name in names))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
