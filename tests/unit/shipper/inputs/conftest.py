import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.files.identity.content import content_for
from log_shipper.shipper.inputs.files.reading.factory import Input
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.reader.base import ParserConfig
from tests.builders import AGENT, input_config
from tests.fakes import ManualClock
from tests.reading_room import Room

OpenHarvester = Callable[..., Harvester]
MakeRoom = Callable[..., Room]


@pytest.fixture
def noted() -> list[FileState]:
    return []


@pytest.fixture
def open_harvester(tmp_path: Path, clock: ManualClock, noted: list[FileState]) -> Iterator[OpenHarvester]:
    """Return a harvester of a file with this content; what it notes goes to `noted`."""
    with ExitStack() as stack:

        def make(
            content: bytes, *parsers: ParserConfig, once: bool = False, name: str = "app.log", **state: Any
        ) -> Harvester:
            path = tmp_path / name
            path.write_bytes(content)
            fd = os.open(path, os.O_RDONLY)
            stack.callback(os.close, fd)
            status = os.fstat(fd)
            entry = FileState(f"id of {name}", str(path), status.st_dev, status.st_ino, size_seen=len(content), **state)
            source = Input(input_config(*parsers), AGENT, {}, 1000, clock, noted.append)
            return source.open(content_for(source.config, fd), entry, once=once)

        yield make


@pytest.fixture
def make_room(tmp_path: Path, clock: ManualClock) -> Iterator[MakeRoom]:
    """Return a Room whose registry has these entries, and whose input has these options."""
    with ExitStack() as stack:

        def make(*states: FileState, **options: object) -> Room:
            room = Room(tmp_path, clock, states, options)
            stack.callback(room.close)
            return room

        yield make


@pytest.fixture
def room(make_room: MakeRoom) -> Room:
    return make_room()
