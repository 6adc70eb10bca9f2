"""Passes secret settings to Java in a file that only this user can read, and that exists only while Java starts.

PySpark puts all settings on Java's command line, which every user of the machine can read.
"""

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from log_shipper.config.text.secrets import is_secret

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_DEFAULT = "pyspark-shell"  # PySpark's default of the variable


def secrets_of(settings: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's settings with secrets, recognised by name."""
    return {name: value for name, value in settings.items() if is_secret(name, value)}


@contextmanager
def passed_by_file(secrets: Mapping[str, str]) -> Iterator[None]:
    """Let a JVM that PySpark starts within the `with` block read these settings from a file."""
    if not secrets:
        yield
        return
    before = os.environ.get(_ARGUMENTS)
    with tempfile.NamedTemporaryFile("w", prefix="spark-sink-", suffix=".conf") as file:  # mode 0600
        file.write(properties(secrets))
        file.flush()
        # Otherwise Spark would read the file instead of its spark-defaults.conf.
        options = f"--properties-file {shlex.quote(file.name)} --load-spark-defaults"
        os.environ[_ARGUMENTS] = f"{options} {before or _DEFAULT}"
        try:
            yield
        finally:
            if before is None:
                del os.environ[_ARGUMENTS]
            else:
                os.environ[_ARGUMENTS] = before


def properties(settings: Mapping[str, str]) -> str:
    """Return the settings in the format of java.util.Properties."""
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(text: str) -> str:
    """Return the text with all special characters escaped, as UTF-16 code units."""
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[index : index + 2], "big") for index in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 and chr(code).isalnum() else f"\\u{code:04x}" for code in codes)
