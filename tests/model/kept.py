"""Counts what an agent holds in memory, in whatever table: what comes and goes must not add up there."""

import gc
import logging
import sqlite3
import weakref
from collections.abc import Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

from tests.lab import Lab

# What is no table, or is kept by the interpreter and SQLite as they like.
OTHER = (type, ModuleType, BuiltinFunctionType, CodeType, logging.Logger, weakref.ref, sqlite3.Connection)


def references(lab: Lab) -> int:
    """Return the number of references between the objects of the agent, without its code and its output."""
    lab.records.clear()
    known: dict[int, object] = {id(lab.output): lab.output}
    left: list[object] = [lab.running]
    count = 0
    while left:
        for other in _referents(left.pop()):
            if not isinstance(other, OTHER):
                count += 1
                if id(other) not in known:
                    known[id(other)] = other
                    left.append(other)
    return count


def _referents(of: object) -> Iterable[object]:
    return (of.__closure__, of.__defaults__) if isinstance(of, FunctionType) else gc.get_referents(of)
