"""Clients of librdkafka, for the shipper and the sink."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

UNUSED = "asyncio"


def load_library() -> None:
    """Import confluent_kafka without asyncio, which it imports for unused clients, and OpenSSL with it: 6 MB. It gets
    an empty module that loads asyncio on first use; no one else sees that module.
    """
    if UNUSED in sys.modules:
        return
    empty = ModuleType(UNUSED)

    def load(name: str) -> Any:
        _remove(empty)
        return getattr(import_module(UNUSED), name)

    vars(empty)["__getattr__"] = load
    sys.modules[UNUSED] = empty
    try:
        import_module("confluent_kafka")
    finally:
        _remove(empty)


def _remove(module: ModuleType) -> None:
    if sys.modules.get(UNUSED) is module:
        del sys.modules[UNUSED]
