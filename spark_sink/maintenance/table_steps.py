"""The maintenance of one table, step by step. Each step that did something, or would do so, is logged."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from log_shipper.config.sink.model import SinkConfig
from log_shipper.config.sink.times import DAY
from log_shipper.spark_sink.maintenance import fold, optimize, retention, vacuum
from log_shipper.spark_sink.maintenance.known import KnownTable
from log_shipper.spark_sink.maintenance.sizes import Sizes, read_sizes, readable_bytes
from log_shipper.spark_sink.storage.layout import LOG_BEYOND, days
from log_shipper.spark_sink.storage.locations import Location

logger = logging.getLogger(__name__)

LOG_NEEDED = 2 * DAY  # beyond `retain`, with a `maintain` a day
MANY_FILES = 50  # the fold handles each of its files by itself: OPTIMIZE first where there are more


@dataclass(slots=True)
class TableSteps:
    """The steps of one table. Each may be called again after a conflict: it reads the table as it is then.

    `uncommitted_since`: no file that is to be committed was written before (seconds of the epoch).
    """

    known: KnownTable
    config: SinkConfig
    dry_run: bool
    now: datetime
    uncommitted_since: float
    began: float = 0.0
    _sizes: Sizes | None = None

    def all(self) -> Iterator[Callable[[], None]]:
        options = self.config.maintenance
        if self.known.role == "marks":
            yield self.fold
        else:
            yield self.retention
            # A view that each batch rewrites removes its old files itself; OPTIMIZE would conflict with it.
            if options.optimize.enabled and not self.known.rewritten:
                yield self.optimize
        if options.vacuum.mode != "off":
            yield self.vacuum

    def retention(self) -> None:
        sizes = self._read_sizes()
        try:
            expired = retention.plan(self.known, sizes, self.now)
        except retention.NoDate:
            return self._log(
                "it has no column `date` that shows which rows are old, so retention.views deletes none: select one in "
                "its sql",
                logging.WARNING,
            )
        if expired is None:
            return None
        if self.dry_run:
            rows = retention.count(self.known.table, expired)
            files = f" in {expired.files:,} files" if expired.files is not None else ""
            return self._log(f"would delete {rows:,} rows{files} ({expired.condition})", rows=rows)
        rows = retention.delete(self.known.table, expired)
        return self._log(f"deleted {rows:,} rows ({expired.condition})", rows=rows) if rows else None

    def optimize(self) -> None:
        sizes, options = self._read_sizes(), self.config.maintenance.optimize
        for day_files in optimize.plan(sizes, options, self.now):
            day = day_files.date if sizes.dated else None
            of = f" of {day}" if day else ""
            if self.dry_run:
                self._log(
                    f"would compact {day_files.small:,} small files{of} ({readable_bytes(day_files.bytes)} in all)"
                )
                continue
            self.began = time.monotonic()
            compacted = optimize.compact(self.known.table, day)
            if compacted.files_before == 0:  # clustered as well as it can be, or compacted by another process meanwhile
                continue
            self._log(
                f"compacted {compacted.files_before:,} files{of} into {compacted.files_after:,}, "
                f"{readable_bytes(compacted.bytes_before)} into {readable_bytes(compacted.bytes_after)}",
                date=day and day.isoformat(),
                files_before=compacted.files_before,
                files=compacted.files_after,
                bytes_before=compacted.bytes_before,
                bytes=compacted.bytes_after,
            )

    def fold(self) -> None:
        self.began = time.monotonic()
        table = self.known.table
        before = self.now.timestamp() - self.config.dedupe.forget_after
        if self._read_sizes().files > MANY_FILES and not self.dry_run:
            optimize.compact(table, None)
        folding = fold.read(table, before)
        summary = f"{folding.rows:,} marks into {folding.kept_rows:,}, {folding.forgotten:,} quiet files forgotten"
        numbers = {"rows_before": folding.rows, "rows": folding.kept_rows, "forgotten": folding.forgotten}
        if self.dry_run:
            return self._log(f"would fold {summary}", **numbers)
        if folding.idle:
            return None
        folding.commit()
        return self._log(f"folded {summary}", **numbers)

    def vacuum(self) -> None:
        self.began = time.monotonic()
        options = self.config.maintenance.vacuum
        self._check_retain(options.retain, options.mode == "lite")
        keep = self._kept_for(options.retain)
        try:
            self._vacuum(options.mode == "lite", keep)
        except vacuum.LogTooShort:
            self._log("its log does not go back to the last VACUUM LITE, so the whole directory is listed")
            self._vacuum(False, keep)

    def _kept_for(self, retain: float) -> float:
        """Return for how many seconds files are kept: longer than `retain` where a batch may need them."""
        ahead = 0.0 if self.dry_run else vacuum.clock_ahead(Location(self.known.table.path))
        if ahead:
            self._log(
                f"this host's clock is {ahead:,.0f} s ahead of that of the file system of {self.known.table.path}. "
                "Files are kept that much longer. Set the clock",
                logging.WARNING,
            )
        return vacuum.kept_for(retain, self.uncommitted_since, ahead)

    def _vacuum(self, lite: bool, retain: float) -> None:
        table = self.known.table
        if self.dry_run:
            files = vacuum.candidates(table, lite, retain)
            more = " or more" if files >= vacuum.LISTED else ""
            return self._log(f"would delete {files:,}{more} files that no version needs", files=files)
        deleted = vacuum.vacuum(table, lite, retain)
        if deleted.files is None:
            return self._log("vacuumed; Delta does not report how much on this file system")
        return self._log(
            f"deleted {deleted.files:,} files that no version needs, {readable_bytes(deleted.bytes or 0)}",
            files=deleted.files,
            bytes=deleted.bytes or 0,
        )

    def _check_retain(self, retain: float, lite: bool) -> None:
        """Warn where the properties of the table do not fit `retain`: it was created with another configuration."""
        table = self.known.table
        kept, log = table.log.removed_files_kept(), table.log.log_kept()
        if kept < retain:
            self._warn(
                retain,
                f"the table remembers for {kept / DAY:g} days only which files were removed",
                "delta.deletedFileRetentionDuration",
                retain,
            )
        if lite and log < retain + LOG_NEEDED:
            self._warn(
                retain,
                f"the table's log goes back {log / DAY:g} days only, which is too short for VACUUM LITE",
                "delta.logRetentionDuration",
                retain + LOG_BEYOND,
            )

    def _warn(self, retain: float, lacks: str, name: str, seconds: float) -> None:
        self._log(
            f"maintenance.vacuum.retain is {retain / DAY:g} days, but {lacks}. With the sink stopped: ALTER TABLE "
            f"{self.known.table.name} SET TBLPROPERTIES ('{name}' = '{days(seconds)}')",
            logging.WARNING,
        )

    def read_sizes(self) -> Sizes:
        """Return the sizes of the newest version of the table, which exists. Reads them again only when it has changed:
        in most rounds, most steps do nothing."""
        if self._sizes is None or self._sizes.version != self.known.table.version():
            self._sizes = read_sizes(self.known.table, optimize.small_size(self.config.maintenance.optimize))
        assert self._sizes is not None
        return self._sizes

    def _read_sizes(self) -> Sizes:
        self.began = time.monotonic()
        return self.read_sizes()

    def _log(self, message: str, level: int = logging.INFO, **fields: object) -> None:
        seconds = time.monotonic() - self.began
        text = f"{self.known.title}: {message}"
        logger.log(
            level,
            f"{text}, {seconds:.1f} s" if level == logging.INFO else text,
            extra={"table": self.known.table.path, "seconds": round(seconds, 3), **fields},
        )
