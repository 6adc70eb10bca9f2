"""Creates the sources of inputs, and their reader: a crawler of files, or standard input."""

import resource
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

from log_shipper.shipper.agent.inputs import AnyInput
from log_shipper.shipper.agent.reload import ReplaceInputs
from log_shipper.shipper.inputs.base import SourceContext
from log_shipper.shipper.inputs.batch_sources import BatchSources, MakeFeed
from log_shipper.shipper.inputs.feed import FeedInput
from log_shipper.shipper.inputs.files.crawler import Crawler, CrawlerOptions
from log_shipper.shipper.inputs.files.discovery.watch import Inotify, Watcher
from log_shipper.shipper.inputs.files.reading.factory import Input
from log_shipper.shipper.inputs.stdin import StdinSource, StreamWatcher, open_stdin
from log_shipper.shipper.wake import Wake

RESERVED_DESCRIPTORS = 200
OPEN_WITH_ONCE = 256


@dataclass(frozen=True, slots=True)
class MadeSources:
    """The sources. `crawler` is None for standard input; without `replace_inputs`, inputs cannot change."""

    sources: BatchSources
    crawler: Crawler | None = None
    replace_inputs: ReplaceInputs | None = None


def watcher_of(wake: Wake, stack: ExitStack, inotify: Callable[[Callable[[], None]], Inotify]) -> Watcher:
    """Return a watcher; `stack` stops it."""
    watcher = Watcher(wake, inotify)
    stack.callback(watcher.stop)
    return watcher


def make_sources(
    inputs: list[AnyInput], context: SourceContext, options: CrawlerOptions, wake: Wake, watcher: Callable[[], Watcher]
) -> MadeSources:
    """Create the sources. The system's limit of open files replaces the one in `options`; `watcher` creates a watcher.
    Raises StartError.
    """
    of_files = [item for item in inputs if isinstance(item, Input)]

    def maker() -> MakeFeed:
        from log_shipper.shipper.inputs.factory import maker  # few have inputs without files

        return maker(context, wake)

    if of_files and of_files[0].config.type == "stdin":  # then it is the only one
        stream = StreamWatcher(wake.watch, wake.unwatch)
        stdin = StdinSource(open_stdin(of_files[0]), stream, context, pending_bytes=options.pending_bytes)
        return MadeSources(BatchSources(stdin, [], maker, context.clock))
    crawler = Crawler(of_files, watcher(), context, replace(options, max_open_files=_max_open_files(once=context.once)))
    sources = BatchSources(crawler, _feeds(inputs), maker, context.clock)

    def replace_inputs(inputs: list[AnyInput]) -> None:
        crawler.replace_inputs([item for item in inputs if isinstance(item, Input)])
        sources.replace_feeds(_feeds(inputs))

    return MadeSources(sources, crawler, replace_inputs)


def _feeds(inputs: list[AnyInput]) -> list[FeedInput]:
    return [item for item in inputs if isinstance(item, FeedInput)]


def _max_open_files(*, once: bool) -> int:
    """Return the maximum number of open files: the system's limit, minus the descriptors for everything else. With
    `once`, files are read one after the other, so more open files would only take memory.
    """
    limit = max(resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED_DESCRIPTORS, 1)
    return min(limit, OPEN_WITH_ONCE) if once else limit
