"""The lab of these tests: writes a configuration, loads it, and tells the problems without the directory's name."""

from pathlib import Path

import pytest

from config.errors import ConfigError
from config.load import load
from config.model import ShipperConfig

WHOLE = """\
shipper.inputs:
  - id: app
    paths: [/var/log/app.log]
output.console.pretty: false
"""


class Lab:
    """`whole` is a configuration without a fault, in four lines: what a test adds begins in line 5."""

    whole = WHOLE

    def __init__(self, directory: Path) -> None:
        self.file = directory / "shipper.yml"

    def load(self, text, model=ShipperConfig, overrides=(), env=None):
        self.file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(self.file, model, overrides, env or {})

    def load_with(self, text, overrides=(), env=None):
        return self.load(WHOLE + text, overrides=overrides, env=env)

    def problems(self, text, model=ShipperConfig, overrides=(), env=None):
        with pytest.raises(ConfigError) as caught:
            self.load(text, model, overrides, env)
        return str(caught.value).replace(f"{self.file.parent}/", "").splitlines()

    def problems_with(self, text, overrides=(), env=None):
        return self.problems(WHOLE + text, overrides=overrides, env=env)


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)
