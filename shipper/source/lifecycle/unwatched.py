"""Looks at open files of which no event tells that they were written to."""

import os
from collections.abc import Iterable

from shipper.source.discovery.watch import Watcher
from shipper.source.reading.harvester import Harvester
from shipper.source.reading.scheduler import Scheduler


def wake_unwatched(running: Iterable[Harvester], watcher: Watcher, scheduler: Scheduler, *, all_of_them: bool) -> None:
    """Wake those that have new data: a write whose event was lost, or of which none will ever tell, because there is no
    watch, or because it is stored in memory (padding.py). `all_of_them`: watched ones too."""
    for harvester in running:
        unwatched = all_of_them or not watcher.is_watched(harvester.key)
        if harvester.reading.padding or (unwatched and _may_have_news(harvester)):
            scheduler.wake(harvester)


def _may_have_news(harvester: Harvester) -> bool:
    """One that was rewritten may have its size again."""
    status = os.fstat(harvester.fd)
    return harvester.has_new_data(status.st_size) or status.st_mtime_ns != harvester.state.modified
