"""The cache directory for downloads and generated files."""

import os
from collections.abc import Mapping
from pathlib import Path


def cache_directory(env: Mapping[str, str] = os.environ) -> Path:
    """Return `$SHIPPER_CACHE`; by default `.cache` in a checkout, else the user's cache directory. It need not
    exist."""
    if chosen := env.get("SHIPPER_CACHE"):
        return Path(chosen).absolute()
    checkout = Path(__file__).resolve().parent.parent.parent
    if (checkout / "script" / "bootstrap").is_file():
        return checkout / ".cache"
    home = env.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "kafka-log-shipper"
