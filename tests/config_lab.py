"""The lab of these tests: writes a configuration, loads it, and returns the problems without the directory's name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, overload

import pytest

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.config.yaml.load import load
from log_shipper.shipper.options.model import ShipperConfig

WHOLE = """\
shipper.inputs:
  - id: app
    paths: [/var/log/app.log]
output.console.pretty: false
"""


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def narrowed(kind: type[T], value: object) -> T:
    """Return the value if it is of this type: a checked `cast`."""
    assert isinstance(value, kind)
    return value


class Load(Protocol[T_co]):
    """Reads a text with these overrides and variables, and returns what comes of it."""

    def __call__(self, text: str, *overrides: str, **env: str) -> T_co: ...


class ConfigLab:
    """`whole` is a configuration without a fault, in four lines: what a test adds begins in line 5."""

    whole = WHOLE

    def __init__(self, directory: Path) -> None:
        self.file = directory / "shipper.yml"

    @overload
    def load(
        self, text: str | bytes, *, overrides: Sequence[str] = (), env: Mapping[str, str] | None = None
    ) -> ShipperConfig: ...

    @overload
    def load(
        self, text: str | bytes, model: type[T], overrides: Sequence[str] = (), env: Mapping[str, str] | None = None
    ) -> T: ...

    def load(
        self,
        text: str | bytes,
        model: type[Any] = ShipperConfig,
        overrides: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> Any:
        self.file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(self.file, model, overrides, env or {})

    def load_with(
        self, text: str, overrides: Sequence[str] = (), env: Mapping[str, str] | None = None
    ) -> ShipperConfig:
        return self.load(WHOLE + text, overrides=overrides, env=env)

    def problems(
        self,
        text: str | bytes,
        model: type[Any] = ShipperConfig,
        overrides: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            self.load(text, model, overrides, env)
        return str(caught.value).replace(f"{self.file.parent}/", "").splitlines()

    def problems_with(
        self, text: str, overrides: Sequence[str] = (), env: Mapping[str, str] | None = None
    ) -> list[str]:
        return self.problems(WHOLE + text, overrides=overrides, env=env)


@pytest.fixture
def lab(tmp_path: Path) -> ConfigLab:
    return ConfigLab(tmp_path)
