"""The configuration in effect, as YAML: the output of `shipper export config` and `spark-sink export config`.

It is what was written, with variables filled in and overrides applied, so that it can be loaded again; options that are
not written have the defaults on the pages of options. Secrets are masked, recognised by the names of their options.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml

from config.shipper.model import ShipperConfig
from config.yaml.errors import ConfigError
from config.yaml.load import read
from config.yaml.maps import RawMaps
from config.yaml.report import LoadReport, Spot, dotted
from config.yaml.schema import options

MASK = "xxxxx"
SHORTEST_PART = 4  # characters
_SECRET = re.compile(
    r"(pass|password|passphrase|secret|token|credentials?|api_?key|private_key|ssl\.key|jaas\.config)$"
)
# Of object stores, as Hadoop names them: fs.s3a.secret.key, fs.azure.account.key.<account>.
_STORE = re.compile(r"(secret|access)\.key$|encryption\.key$|\.account\.key\.")
_KEY_FILE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")
_IN_URL = re.compile(r"(://[^:/@\s]+:)[^@\s]+@")


def export(
    files: Sequence[Path],
    overrides: Sequence[str] = (),
    env: Mapping[str, str] = os.environ,
    model: Any = ShipperConfig,
) -> str:
    """Return the configuration as YAML. Raises ConfigError for what is not YAML, and for variables that are not set."""
    raw = read(files, model, overrides, env)
    report = LoadReport(raw.problems, tolerant=raw.tolerant)
    values = RawMaps(raw.env, report, frozenset(_maps(model))).nested(raw.root, Spot("", "", raw.root.place))
    if raw.mistakes:
        raise ConfigError(raw.mistakes)
    text: str = yaml.safe_dump(
        _without(raw.secrets, masked(values)), sort_keys=False, allow_unicode=True, default_flow_style=False
    )
    return text


def _without(secrets: frozenset[str], value: Any) -> Any:
    """Return the value with MASK for each of the secrets, whatever option has it. One that is very short is masked only
    where it is the whole value: it is a part of many words."""
    if isinstance(value, dict):
        return {key: _without(secrets, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without(secrets, item) for item in value]
    for secret in sorted(secrets - {""}, key=len, reverse=True) if isinstance(value, str) else ():
        if secret == value or len(secret) >= SHORTEST_PART:
            value = value.replace(secret, MASK)
    return value


def _maps(model: Any, above: str = "") -> Iterator[str]:
    """Yield the dotted names of options that are maps with arbitrary keys."""
    for option in options(model):
        for path in (dotted(above, key) for key in option.keys):
            if get_origin(option.hint) is dict and get_args(option.hint)[1] is not Any:
                yield path
            elif option.section and not (option.many or option.kinds or option.about.get("recursive")):
                yield from _maps(option.section, path)


def masked(value: Any, name: str = "") -> Any:
    """Return the value with MASK for each secret in it; `name` is its dotted name."""
    if isinstance(value, dict):
        return {key: masked(item, f"{name}.{key}" if name else key) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item, name) for item in value]
    if isinstance(value, str):
        if _KEY_FILE.search(value):
            return MASK
        value = _IN_URL.sub(rf"\g<1>{MASK}@", value)
    return MASK if value not in (None, "") and _is_secret(name, value) else value


def _is_secret(name: str, value: Any) -> bool:
    # If `ssl.key` is the path of a file, it is not a secret, and it is needed to find mistakes.
    named = name.lower()
    if _STORE.search(named):
        return True
    return bool(_SECRET.search(named)) and not (name.endswith("ssl.key") and str(value).startswith(("/", "./")))
