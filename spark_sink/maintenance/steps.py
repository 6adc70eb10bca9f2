"""What is done to one table, step by step, and a line about each that did, or would do, something."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from config.sink.model import SinkConfig
from config.sink.times import DAY
from spark_sink.maintenance import fold, optimize, retention, vacuum
from spark_sink.maintenance.known import Known
from spark_sink.maintenance.sizes import Sizes, readable_bytes, sizes
from spark_sink.storage.layout import LOG_BEYOND, days

logger = logging.getLogger(__name__)

LOG_NEEDED = 2 * DAY  # beyond `retain`, with a `maintain` a day
MANY_FILES = 50  # the fold handles each of its files by itself: OPTIMIZE first where there are more


@dataclass(slots=True)
class Steps:
    """Each may be called again: it looks at the table as it is then."""

    known: Known
    config: SinkConfig
    dry_run: bool
    now: datetime
    began: float = 0.0

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
        found = self._look()
        try:
            old = retention.plan(self.known, found, self.now)
        except retention.NoDate:
            lacks = (
                "it has no column `date` that shows which rows are old, so retention.views deletes none: "
                "select one in its sql"
            )
            return self._log(lacks, logging.WARNING)
        if old is None:
            return None
        if self.dry_run:
            rows = retention.count(self.known.table, old)
            files = f" in {old.files:,} files" if old.files is not None else ""
            return self._log(f"would delete {rows:,} rows{files} ({old.condition})", rows=rows)
        rows = retention.delete(self.known.table, old)
        return self._log(f"deleted {rows:,} rows ({old.condition})", rows=rows) if rows else None

    def optimize(self) -> None:
        found, options = self._look(), self.config.maintenance.optimize
        for part in optimize.plan(found, options, self.now):
            day = part.date if found.dated else None
            of = f" of {day}" if day else ""
            if self.dry_run:
                self._log(f"would join {part.small:,} small files{of} ({readable_bytes(part.bytes)} in all)")
                continue
            self.began = time.monotonic()
            joined = optimize.join(self.known.table, day)
            if joined.files_before == 0:  # clustered as well as it can be, or another was faster
                continue
            self._log(
                f"joined {joined.files_before:,} files{of} into {joined.files_after:,}, "
                f"{readable_bytes(joined.bytes_before)} into {readable_bytes(joined.bytes_after)}",
                date=day and day.isoformat(),
                files_before=joined.files_before,
                files=joined.files_after,
                bytes_before=joined.bytes_before,
                bytes=joined.bytes_after,
            )

    def fold(self) -> None:
        self.began = time.monotonic()
        table = self.known.table
        before = self.now.timestamp() - self.config.dedupe.forget_after
        if self._look().files > MANY_FILES and not self.dry_run:
            optimize.join(table, None)
        folding = fold.read(table, before)
        words = f"{folding.rows:,} marks into {folding.kept_rows:,}, {folding.forgotten:,} quiet files forgotten"
        numbers = {"rows_before": folding.rows, "rows": folding.kept_rows, "forgotten": folding.forgotten}
        if self.dry_run:
            return self._log(f"would fold {words}", **numbers)
        if folding.idle:
            return None
        folding.commit()
        return self._log(f"folded {words}", **numbers)

    def vacuum(self) -> None:
        self.began = time.monotonic()
        options = self.config.maintenance.vacuum
        self._warn_of_retain(options.retain, options.mode == "lite")
        try:
            self._vacuum(options.mode == "lite", options.retain)
        except vacuum.LogTooShort:
            self._log("its log does not go back to the last VACUUM LITE, so the whole directory is looked through")
            self._vacuum(False, options.retain)

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

    def _warn_of_retain(self, retain: float, lite: bool) -> None:
        """A new table has properties that go with it; one that is there has those of the day it was made."""
        table = self.known.table
        kept, log = table.log.removed_files_kept(), table.log.log_kept()
        if kept < retain:
            self._warn(
                retain,
                f"the table remembers for {kept / DAY:g} days only which files were taken out",
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

    def _look(self) -> Sizes:
        self.began = time.monotonic()
        found = sizes(self.known.table, optimize.small_size(self.config.maintenance.optimize))
        assert found is not None
        return found

    def _log(self, words: str, level: int = logging.INFO, **fields: object) -> None:
        seconds = time.monotonic() - self.began
        text = f"{self.known.title}: {words}"
        logger.log(
            level,
            f"{text}, {seconds:.1f} s" if level == logging.INFO else text,
            extra={"table": self.known.table.path, "seconds": round(seconds, 3), **fields},
        )
