"""The pages of all options, generated from the models: `python -m log_shipper.config.reference` writes
docs/configuration.md, `python -m log_shipper.config.reference sink` docs/sink-configuration.md.

The class variable `since` of a model, or `since` of an option, is the release that brought it; the first release by
default. The first paragraph of a processor's or parser's docstring is its introduction.
"""

import inspect
import json
import sys
import types
from collections.abc import Iterator
from dataclasses import is_dataclass
from textwrap import fill
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from log_shipper.config.shipper.conditions import ConditionConfig
from log_shipper.config.shipper.model import INPUT_KINDS, PROVIDERS, ShipperConfig
from log_shipper.config.shipper.parsers import PARSERS
from log_shipper.config.shipper.processors import PROCESSORS
from log_shipper.config.shipper.processors.host_metadata import parse_ttl
from log_shipper.config.sink.model import SinkConfig
from log_shipper.config.sink.tables import BUILT_IN
from log_shipper.config.sink.times import Span, parse_span, parse_timestamp, readable_span
from log_shipper.config.text.encodings import parse_encoding
from log_shipper.config.text.patterns import parse_pattern
from log_shipper.config.text.units import (
    Size,
    Watermark,
    parse_ago,
    parse_duration,
    parse_duration_or_never,
    parse_size,
    parse_wait,
    parse_watermark,
    readable_watermark,
)
from log_shipper.config.yaml.composing import MAX_DEPTH, MAX_VALUES
from log_shipper.config.yaml.files import MAX_BYTES
from log_shipper.config.yaml.report import dotted
from log_shipper.config.yaml.schema import Kinds, NamedItems, Option, options
from log_shipper.config.yaml.variables import MAX_CHAIN, MAX_NESTED

FIRST_RELEASE = "0.1"
_TYPES: dict[Any, str] = {
    parse_size: "size",
    parse_duration: "duration",
    parse_ago: "duration",
    parse_duration_or_never: "duration",
    parse_wait: "duration",
    parse_ttl: "duration",
    parse_span: "duration",
    parse_timestamp: "time",
    parse_pattern: "pattern",
    parse_encoding: "encoding",
    parse_watermark: "percentage or size",
}
_SECONDS = (parse_duration, parse_duration_or_never, parse_wait, parse_ttl, parse_span, parse_ago)
_UNITS = {parse_size: "bytes", **dict.fromkeys(_SECONDS, "seconds")}
Row = tuple[str, str, str, str, str, str]  # option, type, default, unit, since, meaning

_TITLE = "| option | type | default | unit | since | |\n|---|---|---|---|---|---|\n"
_INTRODUCTION = """# Configuration

All options, generated from the code (`python -m log_shipper.config.reference`). `a.b: 1` and `a: {b: 1}` mean the same
everywhere.
A size is a number of bytes or has a unit (`64KiB`, `10MiB`, `1MB`); a duration is a number of seconds or has units
(`100ms`, `1m30s`, `24h`); a pattern is a regular expression in RE2 syntax, as in Filebeat. A list of one text, number,
parser or processor may be written without the list. `${VAR}`, `${VAR:default}` and `${VAR:?message}` are replaced by
variables of the environment, and `-E key=value` overrides an option. The options of the sink are in
`docs/sink-configuration.md`.

`shipper schema > shipper.schema.json` writes a JSON schema for editors. One with the YAML language server (VS
Code, Neovim, Emacs ...) completes options, shows what they mean and marks mistakes in a file that begins with
`# yaml-language-server: $schema=shipper.schema.json`, the path of the schema from there.
"""
_SINK_INTRODUCTION = """# Configuration of the sink

All options of `sink.yml`, generated from the code (`python -m log_shipper.config.reference sink`). `a.b: 1` and
`a: {{b: 1}}` mean the same everywhere. A size is a number of bytes or has a unit (`64KiB`, `1GiB`, `1MB`); a duration
is a number of seconds or has units (`100ms`, `1m30s`, `24h`), and where it may be long, days (`14d`); a time is ISO
8601 (`2026-11-21T09:30:00Z`), in UTC unless it has a zone. A list of one item may be written without the list.
`${{VAR}}`, `${{VAR:default}}` and `${{VAR:?message}}` are replaced by variables of the environment, and `-E
key=value` overrides an option. `spark-sink test config -c sink.yml` checks a file, and `spark-sink export config -c
sink.yml` prints the configuration in effect, with secrets masked. `spark-sink schema > sink.schema.json` writes a JSON
schema for editors: one with the YAML language server completes options and marks mistakes in a file that begins with
`# yaml-language-server: $schema=sink.schema.json`.

Every table has the columns
{columns};
`columns` adds others, and `doc` contains all other fields of a record. A template in `table.path` makes several tables.
`%{{[topic]}}` is Kafka's topic, any other name a field of the record (`%{{[a.b]}}` and `%{{[a][b]}}` are the same); the
text after `]:` is used where a record lacks the field, and without it such a record is a bad record. The other tables
are named after the directories before the template: with `/lake/logs/%{{[topic]}}`, bad records are written to
`/lake/logs_dead_letter`.

```yaml
kafka:
  hosts: ["localhost:9092"]
  topics: [logs, audit]
table.path: /lake/logs/%{{[topic]}}
checkpoint.path: /lake/logs_checkpoint
columns:
  - {{name: status, path: http.response.status_code, type: int}}
views:
  - name: errors_a_minute
    source: /lake/logs/logs
    watermark: 10m
    sql: >
      SELECT window.start AS minute, host, count(*) AS errors FROM lines
      WHERE message LIKE '%ERROR%' GROUP BY window(ts, '1 minute'), host
```
"""
_LIMITS = (
    f"A configuration file is a regular file of up to {MAX_BYTES // 1024**2} MiB, not a pipe or a device.",
    f"It is nested up to {MAX_DEPTH} levels deep; a dotted key counts as one level for each name.",
    f"It contains up to {MAX_VALUES:,} values, including those that its aliases stand for.",
    f"Up to {MAX_NESTED} variables are nested in each other's defaults, and up to {MAX_CHAIN} options refer to each "
    "other in a chain. Whatever exceeds a limit is reported like any other mistake.",
)
_LIMITS_OF_INPUTS = "The limit of values applies to all files of `config.inputs` together."
_INPUTS = """Each item of `shipper.inputs` (or `filebeat.inputs`). An option that only some types have names these
types. An input without `type` is filestream, and `log` in a configuration with `filebeat.*` names, as in Filebeat."""
_AUTODISCOVER = """Each item of `shipper.autodiscover.providers` (or `filebeat.autodiscover.providers`); an option that
only one of the types has names it. How containers are read by them: [autodiscover.md](autodiscover.md)."""
_PARSERS = "Each item of an input's `parsers`, as in `- multiline: {pattern: '^\\s'}`; they are applied in order."
_PROCESSORS = """Each item of `processors`, as in `- add_fields: {fields: {env: prod}}`, of an input or of all; they
are applied in order, those of the input first. Each of them also takes `when`, one condition."""
_CONDITIONS = "The options of `when`, and of `if` in an item with `if`, `then` and `else` (lists of processors)."


def page() -> str:
    """Return the content of docs/configuration.md."""
    return "\n".join(
        [
            _INTRODUCTION,
            _limits(*_LIMITS, _LIMITS_OF_INPUTS),
            f"## shipper.yml\n\n{table(ShipperConfig)}",
            f"## Inputs\n\n{_INPUTS}\n\n{table(INPUT_KINDS)}",
            f"## Autodiscover\n\n{_AUTODISCOVER}\n\n{table(PROVIDERS)}",
            f"## Parsers\n\n{_PARSERS}\n",
            *_chapters(PARSERS),
            f"## Processors\n\n{_PROCESSORS}\n",
            *_chapters(PROCESSORS),
            f"## Conditions\n\n{_CONDITIONS}\n\n{table(ConditionConfig)}",
        ]
    )


def sink_page() -> str:
    """Return the content of docs/sink-configuration.md."""
    introduction = _SINK_INTRODUCTION.format(columns=fill(", ".join(f"`{name}`" for name in BUILT_IN), 120))
    return f"{introduction}\n{_limits(*_LIMITS)}\n## sink.yml\n\n{table(SinkConfig)}"


def _limits(*sentences: str) -> str:
    return f"## Limits\n\n{fill(' '.join(sentences), 120)}\n"


def _chapters(named: NamedItems) -> Iterator[str]:
    for name, model in sorted(named.models.items()):
        words = (inspect.getdoc(model) or "").partition("\n\n")[0]
        generated = words.startswith(f"{model.__name__}(")  # generated by dataclasses where there is none
        listed = table(model) if any(_rows(model, "")) else "It has no options of its own.\n"
        yield f"### {name}\n\n" + (f"{words}\n\n" if words and not generated else "") + listed


def table(model: Any) -> str:
    """Return a Markdown table of a model's options, sections before their contents."""
    rows = _rows_of_kinds(model, "") if isinstance(model, Kinds) else _rows(model, "")
    return _TITLE + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _rows(model: Any, above: str, before: str = FIRST_RELEASE) -> Iterator[Row]:
    """Yield the rows of a model; `before` is the release that brought the section."""
    since = getattr(model, "since", before)
    for option in sorted(options(model), key=lambda option: _default(option) != "required"):
        if option.name == "when":
            continue  # printed once for all
        path = dotted(above, option.keys[0])
        brought = option.about.get("since", since)
        if not option.section or "doc" in option.about:
            yield f"`{path}`", _type(option.hint), _default(option), _unit(option), brought, _meaning(option, above)
        if option.kinds is None and option.named is None and option.section and not option.about.get("recursive"):
            yield from _rows(option.section, path + "[]" if option.many else path, brought)


def _rows_of_kinds(kinds: Kinds, above: str) -> Iterator[Row]:
    """Yield the rows of several kinds, options they share once, with the kinds that have them, and the release of the
    first of them."""
    owners: dict[Row, list[str]] = {}
    first: dict[tuple[str, ...], Row] = {}  # by what the row says beside the release
    for kind, model in kinds.models.items():
        for row in _rows(model, above):
            owners.setdefault(first.setdefault((*row[:4], row[5]), row), []).append(kind)
    for row, having in owners.items():
        only = f" (`{kinds.key}: {', '.join(having)}`)" if len(having) < len(kinds.models) else ""
        yield (*row[:-1], row[-1] + only)


def _meaning(option: Option, above: str) -> str:
    same = [f"`{dotted(above, key)}`" for key in option.keys[1:]]
    doc: str = option.about.get("doc", "").replace("|", "\\|")
    return doc + (f" Also {', '.join(same)}." if same else "")


def _type(hint: Any) -> str:
    origin: Any = get_origin(hint)
    arguments = get_args(hint)
    if origin is Annotated:
        return _TYPES.get(arguments[1]) or _type(arguments[0])
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in arguments if choice)
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return "map"
    if origin in (Union, types.UnionType):
        return _type(arguments[0])
    known = {str: "text", int: "number", float: "number", bool: "true or false", Any: "anything"}
    described: str = getattr(hint, "described_as", "section")
    return known.get(hint, described)


def _unit(option: Option) -> str:
    hint = next(
        (candidate for candidate in (option.hint, *get_args(option.hint)) if get_origin(candidate) is Annotated), None
    )
    return str(option.about.get("unit") or (_UNITS.get(get_args(hint)[1], "") if hint else ""))


def _default(option: Option) -> str:
    if option.required or "wanted" in option.about:
        return "required"
    if not (option.default or isinstance(option.default, bool | int | float)) or is_dataclass(option.default):
        return ""
    return f"`{_text(option.hint, option.default)}`"


def _text(hint: Any, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(str(item) for item in value)
    if hint == Watermark:
        return readable_watermark(value)
    if hint == Span:
        return readable_span(value)
    if get_origin(hint) is Annotated and _UNITS.get(get_args(hint)[1]) == "seconds":
        return f"{value:g}s"
    if hint == Size:
        return f"{value // 1024**2}MiB" if value and value % 1024**2 == 0 else str(value)
    text = str(value)
    return text if text.isprintable() else json.dumps(text)  # as YAML writes it, in quotes


if __name__ == "__main__":
    sys.stdout.write(sink_page() if sys.argv[1:] == ["sink"] else page())
