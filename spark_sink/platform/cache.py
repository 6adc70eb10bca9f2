"""The directory in which downloads and generated files are kept between runs."""

import os
from collections.abc import Mapping
from pathlib import Path


def cache_directory(env: Mapping[str, str] = os.environ) -> Path:
    """Return `$SHIPPER_CACHE`; without it `.cache` in a checkout, elsewhere the user's cache directory. It need not
    exist."""
    if chosen := env.get("SHIPPER_CACHE"):
        return Path(chosen).absolute()
    checkout = Path(__file__).resolve().parent.parent.parent
    if (checkout / "script" / "bootstrap").is_file():
        return checkout / ".cache"
    home = env.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "kafka-log-shipper"
