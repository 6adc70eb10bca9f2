"""Which tables a configuration has: one, or all that exist of a template."""

import re
from collections.abc import Iterator

from pyarrow import fs

from log_shipper.config.sink.model import SinkConfig
from log_shipper.config.sink.paths import normal, normal_pattern
from log_shipper.spark_sink.search.errors import SearchError
from log_shipper.spark_sink.storage.locations import Location


def locations(config: SinkConfig) -> list[Location]:
    """Return the places of the tables of lines, sorted. Raises SearchError where a template has no table yet."""
    if not config.has_template:
        return [Location(config.table.path)]
    template = config.table.template
    pattern = re.compile(normal_pattern(template, ()))
    root = normal(template.directory)
    depth = config.table.path.rstrip("/").count("/") - template.directory.count("/")
    try:
        paths = sorted(_directories(Location(root).files(), "", depth))
    except OSError as error:
        raise SearchError(f"cannot list the tables below {root}: {error}") from error
    tables = [f"{root}/{path}" for path in paths if pattern.fullmatch(f"{root}/{path}")]
    if not tables:
        raise SearchError(f"there is no table below {root} yet (table.path: {config.table.path})")
    return [Location(path) for path in tables]


def _directories(store: fs.FileSystem, above: str, depth: int) -> Iterator[str]:
    """Yield the directories at this depth that are tables of Delta."""
    if depth == 0:
        if store.get_file_info(f"{above}/_delta_log").type == fs.FileType.Directory:
            yield above
        return
    for info in store.get_file_info(fs.FileSelector(above, allow_not_found=True)):
        if info.type == fs.FileType.Directory and not info.base_name.startswith("_"):
            yield from _directories(store, f"{above}/{info.base_name}".lstrip("/"), depth - 1)
