"""Renewed certificates: noticed, checked, and only then used. librdkafka reads certificates once, when a client is
made, so a renewed one takes a new client."""

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
    """What is in the files, as Security reads them."""

    problems: list[Finding]
    warnings: list[Finding]


class Clock(Protocol):
    """Seconds that never go back."""

    def monotonic(self) -> float: ...


class CertificateFiles:
    """The files of TLS. `inspect` looks into them; the interval is in seconds. `section`: where the options are, for
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
        self._next_warning = clock.monotonic() + DAY  # the first one comes with the configuration

    def are_renewed(self) -> bool:
        """Return True once after the files were replaced by others that can be used. Called often: it looks at the
        files once in the interval."""
        if self._clock.monotonic() < self._next_look:
            return False
        self._next_look = self._clock.monotonic() + self._interval
        look = self._look()
        # A certificate and its key are two files, written one after the other: looked into when both rest.
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
        """Log what is about to expire once a day: an agent may run for longer than its certificate."""
        self._next_warning = self._clock.monotonic() + DAY
        for option, message in inspection.warnings:
            logger.warning("%s.%s: %s", self._section, option, message)

    def _can_be_used(self) -> bool:
        inspection = self._inspect()
        for option, message in inspection.problems:
            logger.warning(
                "%s.%s: %s. The certificates that were read before remain in use; mend the files, and they are read "
                "again",
                self._section,
                option,
                message,
            )
        if inspection.problems:
            return False
        logger.info("the certificates of %s are renewed: the connections are made again", self._section)
        self._warn(inspection)
        return True

    def _look(self) -> Look:
        return tuple(map(_identity, self._paths))


def renewals(options: Options, clock: Clock, section: str) -> Callable[[], bool]:
    """Return a function that returns True once after certificates were renewed: never without TLS, without files, or
    where it is disabled."""
    oauth = options.sasl.oauthbearer
    paths = tls.paths(options.ssl, *(oauth.certificate_authorities if oauth is not None else ()))
    interval = options.ssl.reload_interval
    if not options.ssl.enabled or not paths or interval is None:
        return never
    return CertificateFiles(paths, lambda: Security(options), interval, clock, section).are_renewed


def never() -> bool:
    """What there is in place of `are_renewed` where no certificates are read from files."""
    return False


def _identity(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)  # follows links: Kubernetes and certbot replace a link
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
