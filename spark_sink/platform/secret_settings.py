"""Settings with secrets, on their way to Java: in a file that only this user can read, and only while Java starts.

PySpark puts all settings on Java's command line, which every user of the machine can read.
"""

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from log_shipper.config.text.secrets import is_secret

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_DEFAULT = "pyspark-shell"  # PySpark's, where the variable is not set


def secrets_of(settings: Mapping[str, str]) -> dict[str, str]:
    """Return those of Spark's settings that have secrets, by their names."""
    return {name: value for name, value in settings.items() if is_secret(name, value)}


@contextmanager
def passed_by_file(secrets: Mapping[str, str]) -> Iterator[None]:
    """Let a Java that PySpark starts meanwhile read these settings from a file."""
    if not secrets:
        yield
        return
    before = os.environ.get(_ARGUMENTS)
    with tempfile.NamedTemporaryFile("w", prefix="spark-sink-", suffix=".conf") as file:  # mode 0600
        file.write(properties(secrets))
        file.flush()
        # Else the file would be read in the place of Spark's own spark-defaults.conf.
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
    """Return the settings as java.util.Properties reads them."""
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(text: str) -> str:
    """Return the text with all that might have a meaning as an escape, in units of UTF-16."""
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[index : index + 2], "big") for index in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 and chr(code).isalnum() else f"\\u{code:04x}" for code in codes)
