"""`spark-sink maintain`: keeps the tables of a sink fast and small, beside the running stream.

    each table of lines, the dead letter, each view        retention ─► optimize ─► vacuum
    marks                                                            fold     ─► vacuum

Every step is at most one Delta commit, so a killed step leaves the table unchanged. The stream only appends, and never
fails because of a step. A step fails, and is retried, if a concurrent commit conflicts (a second `maintain`, a repair,
old rows that land during the retention step). A failure in one table is logged, and the next table follows.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from log_shipper.config.text.spans import DAY
from log_shipper.config.text.units import readable_bytes
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.logs import trace
from log_shipper.spark_sink.maintenance.known import KnownTable, known_tables
from log_shipper.spark_sink.maintenance.sizes import MANY_FILES, Sizes
from log_shipper.spark_sink.maintenance.status_report import many_files
from log_shipper.spark_sink.maintenance.streams import StreamStatus, oldest_pending, streams
from log_shipper.spark_sink.maintenance.table_steps import TableSteps
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.storage.power_cuts import mend_table, sync_commits
from log_shipper.spark_sink.storage.rewrites import Conflict

logger = logging.getLogger(__name__)

TRIES = 5  # usually the winner of a conflict has done the loser's work: five conflicts in a row are not chance


def run(config: SinkConfig, dry_run: bool) -> int:
    """Return 0; 1 when a step failed."""
    return Maintenance(config, dry_run).run()


@dataclass(slots=True)
class Maintenance:
    """One round over all tables."""

    config: SinkConfig
    dry_run: bool
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    uncommitted_since: float = field(default_factory=time.time)  # later batches write newer files
    failed: int = 0
    done: int = 0
    many_files: int = MANY_FILES  # a table with more gets a warning

    def run(self) -> int:
        began = time.monotonic()
        self._guarded(f"the checkpoints beside {self.config.checkpoint.path}", self._read_streams)
        tables: list[KnownTable] = []
        self._guarded("the list of tables", lambda: tables.extend(self._known_tables()))
        for known in tables:
            self._guarded(f"{known.title}, {known.table.path}", partial(self._maintain_table, known))
        seconds = time.monotonic() - began
        doing = "dry run: nothing was changed" if self.dry_run else "maintained"
        logger.log(
            logging.ERROR if self.failed else logging.INFO,
            f"{doing}: {self.done} tables, {self.failed} failures, {seconds:.1f} s",
            extra={"tables": self.done, "failures": self.failed, "seconds": round(seconds, 3)},
        )
        return 1 if self.failed else 0

    def _known_tables(self) -> list[KnownTable]:
        if not self.dry_run:
            mend_table(self.config.state_path, logger.warning)  # with a template, the marks name the others
        return known_tables(self.config)

    def _maintain_table(self, known: KnownTable) -> None:
        if not self.dry_run:
            mend_table(known.table.path, logger.warning)
        snapshot = known.table.snapshot()
        if not snapshot.exists:
            return logger.info(f"{known.title}: {known.table.path} does not exist yet")
        version = snapshot.version
        steps = TableSteps(known, self.config, self.dry_run, self.now, self.uncommitted_since)
        before = steps.sizes_of(snapshot)
        self.done += 1
        for step in steps.all():
            self._guarded(f"{step.__name__} of {known.title}, {known.table.path}", partial(retried, step))
            if self.config.fsync:
                version = sync_commits(known.table.path, version)
        after = steps.sizes_of(known.table.snapshot())
        if not self.dry_run:
            logger.info(
                f"{known.title}: {_changed(before, after)}",
                extra={
                    "table": known.table.path,
                    "files_before": before.files,
                    "bytes_before": before.bytes,
                    "files": after.files,
                    "bytes": after.bytes,
                    "small_files": after.small,
                },
            )
        if after.files > self.many_files:
            logger.warning(f"{known.title}: {many_files(after.files)}", extra={"table": known.table.path})
        return None

    def _read_streams(self) -> None:
        known = streams(self.config)
        for stream in known:
            self._log_age(stream)
        if (planned := oldest_pending(known)) is not None:
            self._note_pending(planned)

    def _note_pending(self, planned: datetime) -> None:
        """Keep all files written since the pending batch was planned: it may still commit them."""
        self.uncommitted_since = min(self.uncommitted_since, planned.timestamp())
        vacuum = self.config.maintenance.vacuum
        if vacuum.mode != "off" and time.time() - planned.timestamp() > vacuum.retain:
            logger.warning(
                f"keeping files written since {planned:%Y-%m-%d %H:%M:%S} UTC, longer than maintenance.vacuum.retain "
                f"({vacuum.retain / DAY:g} days): a batch planned then is not committed. If spark-sink run is "
                "stopped, start it; the files are deleted after the batch has landed"
            )

    def _log_age(self, stream: StreamStatus) -> None:
        if stream.committed is None:
            return logger.info(f"{stream.name}: no batch has been committed in {stream.path}")
        age = (self.now - stream.committed).total_seconds()
        message = (
            f"{stream.name}: its last batch, {stream.batch}, was committed {stream.committed:%Y-%m-%d %H:%M:%S} UTC"
        )
        if age > DAY:
            message += f", {age / DAY:.1f} days ago: is it running?"
        level = logging.WARNING if age > DAY else logging.INFO
        return logger.log(level, message, extra={"checkpoint": stream.path, "age_seconds": round(age)})

    def _guarded(self, what: str, action: Callable[[], None]) -> None:
        try:
            action()
        except SinkError as error:
            self.failed += 1
            logger.error(f"{what}: {error}", extra=trace(str(error.__cause__ or "")))


def _changed(before: Sizes, after: Sizes) -> str:
    small = f", {after.small:,} of them small" if after.small else ""
    now = f"{after.files:,} files, {readable_bytes(after.bytes)}{small}"
    if before.files == after.files:
        return now
    return f"{before.files:,} files, {readable_bytes(before.bytes)} became {now}"


def retried(step: Callable[[], None]) -> None:
    """Run the step, at most TRIES times while it raises Conflict."""
    for _ in range(TRIES - 1):
        try:
            return step()
        except Conflict:
            continue
    return step()
