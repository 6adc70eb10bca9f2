"""Clients of librdkafka, for the shipper and the sink."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

UNUSED = "asyncio"


def load_library() -> None:
    """Import confluent_kafka, which imports asyncio for clients that are not used here, and with it OpenSSL: 6 MB.
    Instead of asyncio it gets an empty module, which loads asyncio when something of it is used; nothing else sees
    that module."""
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
