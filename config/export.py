"""The effective configuration as YAML: the output of `shipper export config` and `spark-sink export config`.

It is the written configuration with variables expanded and overrides applied, so it can be loaded again; other options
have the defaults on the pages of options. Secrets, recognised by option name, are masked.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml

from log_shipper.config.text.secrets import hidden, masked
from log_shipper.config.yaml.document import Overrides
from log_shipper.config.yaml.errors import ConfigError
from log_shipper.config.yaml.load import read
from log_shipper.config.yaml.maps import RawMaps
from log_shipper.config.yaml.report import LoadReport, Spot, dotted
from log_shipper.config.yaml.schema import options
from log_shipper.config.yaml.templates import escape_late


def export(files: Sequence[Path], model: Any, overrides: Overrides = (), env: Mapping[str, str] = os.environ) -> str:
    """Return the configuration of a model as YAML.

    Raises ConfigError for invalid YAML and unset variables.
    """
    raw = read(files, model, overrides, env)
    report = LoadReport(raw.problems, tolerant=raw.tolerant)
    values = RawMaps(raw.env, report, frozenset(_maps(model))).nested(
        escape_late(raw.root), Spot("", "", raw.root.place)
    )
    if raw.mistakes:
        raise ConfigError(raw.mistakes)
    text: str = yaml.safe_dump(
        _without(raw.secrets, masked(values)), sort_keys=False, allow_unicode=True, default_flow_style=False
    )
    return text


def _without(secrets: frozenset[str], value: Any) -> Any:
    """Return the value with each secret masked, in any option."""
    if isinstance(value, dict):
        return {key: _without(secrets, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without(secrets, item) for item in value]
    return hidden(value, secrets) if isinstance(value, str) else value


def _maps(model: Any, above: str = "") -> Iterator[str]:
    """Yield the dotted names of options that are maps with arbitrary keys."""
    for option in options(model):
        for path in (dotted(above, key) for key in option.keys):
            if get_origin(option.hint) is dict and get_args(option.hint)[1] is not Any:
                yield path
            elif option.section and not (option.many or option.kinds or option.about.get("recursive")):
                yield from _maps(option.section, path)
