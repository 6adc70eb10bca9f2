"""The page of all options: `python -m log_shipper.shipper.options.page` prints docs/reference/shipper-options.md."""

import sys

from log_shipper.config.reference import chapters, limits, table
from log_shipper.config.yaml.schema import options
from log_shipper.shipper.options.conditions import ConditionConfig
from log_shipper.shipper.options.model import INPUT_KINDS, PROVIDERS, ShipperConfig
from log_shipper.shipper.options.outputs import OutputConfig
from log_shipper.shipper.options.parsers import PARSERS
from log_shipper.shipper.options.processors import PROCESSORS

_INTRODUCTION = """# Shipper options

All options, generated from the code (`python -m log_shipper.shipper.options.page`). `a.b: 1` and `a: {b: 1}` mean the
same everywhere.
A size is a number of bytes or has a unit (`64KiB`, `10MiB`, `1MB`); a duration is a number of seconds or has units
(`100ms`, `1m30s`, `24h`); a pattern is a regular expression in RE2 syntax, as in Filebeat. A list of one text, number,
parser or processor may be written without the list. `${VAR}`, `${VAR:default}` and `${VAR:?message}` are replaced by
variables of the environment; a default begins right after the colon, so that of `${VAR:-x}` is `-x`. `-E key=value`
overrides an option. The options of the sink: [Sink options](sink-options.md).

`shipper schema > shipper.schema.json` writes a JSON schema for editors. One with the YAML language server (VS
Code, Neovim, Emacs ...) completes options, shows what they mean and marks mistakes in a file that begins with
`# yaml-language-server: $schema=shipper.schema.json`, the path of the schema from there.
"""
_LIMITS_OF_INPUTS = "The limit of values applies to all files of `config.inputs` together."
_INPUTS = """Each item of `shipper.inputs` (or `filebeat.inputs`). An option that only some types have names these
types. An input without `type` is filestream, and `log` in a configuration with `filebeat.*` names, as in Filebeat."""
_AUTODISCOVER = """Each item of `shipper.autodiscover.providers` (or `filebeat.autodiscover.providers`); an option that
only one of the types has names it. How containers are read by them: [Autodiscover](../guides/autodiscover.md)."""
_PARSERS = "Each item of an input's `parsers`, as in `- multiline: {pattern: '^\\s'}`; they are applied in order."
_PROCESSORS = """Each item of `processors`, as in `- add_fields: {fields: {env: prod}}`, of an input or of all; they
are applied in order, those of the input first. Each of them also takes `when`, one condition."""
_CONDITIONS = "The options of `when`, and of `if` in an item with `if`, `then` and `else` (lists of processors)."


def _outputs() -> str:
    """Return an example of each output."""
    return "".join(f"- `{option.section.example}`\n" for option in options(OutputConfig))


def page() -> str:
    """Return the content of docs/reference/shipper-options.md."""
    return "\n".join(
        [
            _INTRODUCTION,
            limits(_LIMITS_OF_INPUTS),
            f"## shipper.yml\n\n{table(ShipperConfig)}",
            f"Outputs, for example:\n\n{_outputs()}",
            f"## Inputs\n\n{_INPUTS}\n\n{table(INPUT_KINDS)}",
            f"## Autodiscover\n\n{_AUTODISCOVER}\n\n{table(PROVIDERS)}",
            f"## Parsers\n\n{_PARSERS}\n",
            *chapters(PARSERS),
            f"## Processors\n\n{_PROCESSORS}\n",
            *chapters(PROCESSORS),
            f"## Conditions\n\n{_CONDITIONS}\n\n{table(ConditionConfig)}",
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(page())
