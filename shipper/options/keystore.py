"""`keystore`: named secrets in a separate file, for `${NAME}` in the configuration.

The values are only base64-encoded against casual viewing: whoever can read the file has the secrets, as with
Filebeat's, whose key is in its program. They stay out of configuration, command line and environment, and mode 0600
keeps other users out.
"""

import base64
import binascii
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from log_shipper.config.text.checks import Finding
from log_shipper.config.yaml.errors import ConfigError, Problem
from log_shipper.config.yaml.files import read_bytes

FILE = "shipper.keystore"  # in path.data
VERSION = 1
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeystoreConfig:
    since: ClassVar = "0.3"
    path: str | None = field(
        default=None,
        metadata={"doc": f"The file of `shipper keystore`; by default `{FILE}` in path.data."},
    )

    def check(self) -> Iterator[Finding]:
        if self.path is not None and not self.path.strip():
            yield "path", "is empty"


def location(variables: Mapping[str, str]) -> Path:
    """Return the path of the keystore, from the options `keystore.path` and `path.data`. Raises ValueError if these
    have unset variables.
    """
    written = variables.get("keystore.path")
    return Path(written) if written else Path(variables.get("path.data") or "data") / FILE


def secrets_of(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets by name; empty without a keystore. Raises ConfigError."""
    try:
        path = location(variables)
    except ValueError:
        return {}  # reported when the option is read
    # False also if this user has no access to path.data; a command that needs more than its path reports that.
    return read_keystore(path) if os.path.exists(path) else {}


def read_keystore(path: Path) -> dict[str, str]:
    """Read the keystore. Raises ConfigError if it is unreadable, damaged, or readable by others."""
    content = read_bytes(path)
    mode = stat.S_IMODE(os.stat(path).st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise _problem(path, f"the keystore is accessible to other users (mode {mode:04o}); run: chmod 600 {path}")
    try:
        document = json.loads(content)
        if document["version"] != VERSION:
            raise _problem(path, f"keystore version {document['version']!r} is not supported by this release")
        return {str(name): base64.b64decode(text, validate=True).decode() for name, text in document["secrets"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        advice = "restore it, or create a new one: shipper keystore create --force"
        raise _problem(path, f"the keystore is damaged ({type(error).__name__}); {advice}") from error


def written_keystore(values: Mapping[str, str]) -> bytes:
    coded = {name: base64.b64encode(value.encode()).decode() for name, value in sorted(values.items())}
    return json.dumps({"version": VERSION, "secrets": coded}, indent=1).encode() + b"\n"


def is_name(text: str) -> bool:
    """Return True if this is a valid name of a secret."""
    return _KEY.fullmatch(text) is not None


def _problem(path: Path, message: str) -> ConfigError:
    return ConfigError([Problem(str(path), 0, "", message)])
