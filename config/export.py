"""The configuration that is in effect, as YAML: what `shipper export config` prints.

What was written, with variables filled in and overrides laid over it, so that it can be loaded again; what is not there
has the default that docs/configuration.md names. Secrets are masked by the names of their options.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from config.errors import ConfigError
from config.load import read
from config.model import ShipperConfig
from config.raw import RawMaps
from config.report import Report, Spot

MASK = "xxxxx"
_SECRET = re.compile(
    r"(pass|password|passphrase|secret|token|credentials?|api_?key|private_key|ssl\.key|jaas\.config)$"
)
_KEY_FILE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")
_IN_URL = re.compile(r"(://[^:/@\s]+:)[^@\s]+@")


def export(files: Sequence[Path], overrides: Sequence[str] = (), env: Mapping[str, str] = os.environ) -> str:
    """Raises ConfigError for what is no YAML, and for variables that are not set."""
    report = Report([])
    reading = read(files, ShipperConfig, overrides, env, report.problems)
    values = RawMaps(reading.env, report).nested(reading.root, Spot("", "", reading.root.place))
    if report.problems:
        raise ConfigError(report.problems)
    text: str = yaml.safe_dump(masked(values), sort_keys=False, allow_unicode=True, default_flow_style=False)
    return text


def masked(value: Any, name: str = "") -> Any:
    """The value with MASK for each secret in it; `name` is its dotted name."""
    if isinstance(value, dict):
        return {key: masked(each, f"{name}.{key}" if name else key) for key, each in value.items()}
    if isinstance(value, list):
        return [masked(each, name) for each in value]
    if isinstance(value, str):
        if _KEY_FILE.search(value):
            return MASK
        value = _IN_URL.sub(rf"\g<1>{MASK}@", value)
    return MASK if value not in (None, "") and _is_secret(name, value) else value


def _is_secret(name: str, value: Any) -> bool:
    # `ssl.key` is the path of a file, which is no secret and which somebody who looks for a mistake wants to see.
    return bool(_SECRET.search(name.lower())) and not (name.endswith("ssl.key") and str(value).startswith(("/", "./")))
