"""The loggers of both programs as they were before a test, or before what several tests share."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from log_shipper.shipper.agent import logs
from log_shipper.spark_sink import logs as sink_logs


@contextmanager
def restored_loggers() -> Iterator[None]:
    """Restore the loggers, and close what was added: a handler that stayed would write to a stream that is closed by
    then, and one that folds messages a minute later, into what another test looks at."""
    known = (name for program in (logs, sink_logs) for names in program.COMPONENTS.values() for name in names)
    changed = [logging.getLogger(name) for name in ("", "watchdog", *sink_logs.OWN, *known)]
    before = [(logger.handlers[:], logger.level, logger.propagate) for logger in changed]
    yield
    for logger, (handlers, level, propagate) in zip(changed, before, strict=True):
        for added in [handler for handler in logger.handlers if handler not in handlers]:
            added.close()
        logger.handlers[:] = handlers
        if logger.level != level:  # each call makes all loggers look up their levels again
            logger.setLevel(level)
        logger.propagate = propagate
