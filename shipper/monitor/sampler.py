"""Takes a snapshot every two seconds on a separate thread; less often if one takes long because of very many open
files.
"""

import logging
import threading
import time
from collections.abc import Callable

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.monitor.series import Rates, Series
from log_shipper.shipper.monitor.snapshot import Snapshot

logger = logging.getLogger(__name__)

INTERVAL = 2.0  # seconds
MAX_SHARE = 0.1  # maximum share of time


class Sampler:
    """The sampler. `take` creates a snapshot, and `taken` is called with it. `latest` is replaced as a whole, so any
    thread may read it.
    """

    def __init__(self, take: Callable[[], Snapshot], taken: Callable[[], object] = lambda: None) -> None:
        self._take = take
        self._taken = taken
        self._stopping = threading.Event()
        self._failures = Throttle()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self.latest: Snapshot | None = None
        self.rates = Rates()
        self.series = Series()

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        self._thread.join(INTERVAL)

    def step(self) -> None:
        snapshot = self._take()
        self.rates.add(snapshot)
        self.series.add(snapshot)
        self.latest = snapshot
        self._taken()

    def _run(self) -> None:
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self.step()
            except Exception:
                if self._failures.is_due():
                    logger.exception("sampling the shipper's state failed: /status and /metrics are out of date")
            self._stopping.wait(max(INTERVAL, (time.monotonic() - began) / MAX_SHARE))
