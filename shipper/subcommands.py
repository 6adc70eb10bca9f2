"""What the modules of `shipper keystore`, `dead-letter`, `registry` and others are given to add their commands."""

import argparse
from collections.abc import Callable
from pathlib import Path

from config.shipper.model import ShipperConfig

# Adds the options that all commands share, and the command itself.
AddCommon = Callable[[argparse.ArgumentParser, object], None]
# Returns the configuration, None if there is none, and the data path.
Context = Callable[[argparse.Namespace], tuple[ShipperConfig | None, Path]]
# Returns the configuration files, and what overrides them.
Written = Callable[[argparse.Namespace], tuple[list[Path], list[str]]]
