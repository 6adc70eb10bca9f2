"""Detects renewed certificates, and uses them after checking them. librdkafka reads certificates once, when a client is
created, so renewed ones need a new client.
"""

import logging
import os
from collections.abc import Callable, Sequence
from typing import Protocol

from log_shipper.config.text.checks import Finding
from log_shipper.runtime.kafka import tls
from log_shipper.runtime.kafka.security import Options, Security

logger = logging.getLogger(__name__)

DAY = 24 * 3600.0
Look = tuple[tuple[int, ...], ...]  # of each file: device, inode, size and time of change; () if it is missing


class Inspection(Protocol):
    """The content of the files, as Security reads them."""

    problems: list[Finding]
    warnings: list[Finding]


class Clock(Protocol):
    """Monotonic seconds."""

    def monotonic(self) -> float: ...


class CertificateFiles:
    """The TLS files. `inspect` reads them; the interval is in seconds. `section`: the path of the options, for
    the log."""

    def __init__(
        self,
        paths: Sequence[str],
        inspect: Callable[[], Inspection],
        interval: float,
        clock: Clock,
        section: str = "output.kafka",
    ) -> None:
        self._section = section
        self._paths = paths
        self._inspect = inspect
        self._interval = interval
        self._clock = clock
        self._used = self._seen = self._look()
        self._next_look = clock.monotonic() + interval
        self._next_warning = clock.monotonic() + DAY  # the first content comes with the configuration

    def are_renewed(self) -> bool:
        """Return True once after usable new files replaced the old ones. Call it often: it checks the files once per
        interval.
        """
        if self._clock.monotonic() < self._next_look:
            return False
        self._next_look = self._clock.monotonic() + self._interval
        look = self._look()
        # A certificate and its key are two files, written one after the other: read them once both stop changing.
        changed, self._seen = look != self._seen, look
        if changed:
            return False
        if look != self._used:
            self._used = look
            return self._can_be_used()
        if self._clock.monotonic() >= self._next_warning:
            self._warn(self._inspect())
        return False

    def _warn(self, inspection: Inspection) -> None:
        """Log certificates that expire soon once a day: an agent may run longer than its certificate."""
        self._next_warning = self._clock.monotonic() + DAY
        for option, message in inspection.warnings:
            logger.warning("%s.%s: %s", self._section, option, message)

    def _can_be_used(self) -> bool:
        inspection = self._inspect()
        for option, message in inspection.problems:
            logger.warning(
                "%s.%s: %s. The previous certificates remain in use; correct the files, and they are reloaded "
                "automatically",
                self._section,
                option,
                message,
            )
        if inspection.problems:
            return False
        logger.info("certificates of %s changed: reconnecting", self._section)
        self._warn(inspection)
        return True

    def _look(self) -> Look:
        return tuple(map(_identity, self._paths))


def renewals(options: Options, clock: Clock, section: str) -> Callable[[], bool]:
    """Return a function that returns True once after certificates were renewed; never without TLS, without files, or if
    disabled.
    """
    oauth = options.sasl.oauthbearer
    paths = tls.paths(options.ssl, *(oauth.certificate_authorities if oauth is not None else ()))
    interval = options.ssl.reload_interval
    if not options.ssl.enabled or not paths or interval is None:
        return never
    return CertificateFiles(paths, lambda: Security(options), interval, clock, section).are_renewed


def never() -> bool:
    """Return False: replaces `are_renewed` if no certificates are read from files."""
    return False


def _identity(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)  # follows links: Kubernetes and certbot replace a link
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
