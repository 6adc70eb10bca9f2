"""Positions of files, safe on disk. Imports nothing of ours; `store.py` describes the format."""

from registry.errors import (
    RegistryCorrupt,
    RegistryError,
    RegistryLocked,
    RegistryMisplaced,
    RegistryReplaced,
    RegistryTooNew,
)
from registry.files import DiskFiles, Files
from registry.registrar import Registrar, SaveTicket
from registry.state import FileState
from registry.store import Store, read

__all__ = [
    "DiskFiles",
    "FileState",
    "Files",
    "Registrar",
    "RegistryCorrupt",
    "RegistryError",
    "RegistryLocked",
    "RegistryMisplaced",
    "RegistryReplaced",
    "RegistryTooNew",
    "SaveTicket",
    "Store",
    "read",
]
