"""The maintenance steps of one table. Each logs what it did, or would do."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from log_shipper.config.text.spans import DAY
from log_shipper.config.text.units import readable_bytes
from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.maintenance import fold, optimize, retention, vacuum
from log_shipper.spark_sink.maintenance.known import KnownTable
from log_shipper.spark_sink.maintenance.sizes import Sizes, sizes_of
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.storage.layout import REMEMBERED, days, remembered
from log_shipper.spark_sink.storage.tables import TableSnapshot

logger = logging.getLogger(__name__)

LITE_NEEDS = 2 * DAY  # beyond `retain`, with one `maintain` per day


@dataclass(slots=True)
class TableSteps:
    """The steps of one table. Each may be retried after a conflict: it reads the newest version again.

    `uncommitted_since`: all uncommitted files of pending batches are newer (seconds of the epoch).
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
            # Each batch of a rewritten view replaces all its files; compaction would conflict with that.
            if options.optimize.enabled and not self.known.rewritten:
                yield self.optimize
        if options.vacuum.mode != "off":
            yield self.vacuum

    def retention(self) -> None:
        snapshot = self._snapshot()
        try:
            expired = retention.plan(self.known, snapshot, self.sizes_of(snapshot), self.now)
        except retention.NoDate:
            return self._log(
                "no column `date`, so retention.views deletes no rows: select one in its sql",
                logging.WARNING,
            )
        if expired is None:
            return None
        if self.dry_run:
            rows = retention.count(snapshot, expired)
            files = f" in {expired.files:,} files" if expired.files is not None else ""
            return self._log(f"would delete {rows:,} rows{files} ({expired.condition})", rows=rows)
        rows = retention.delete(snapshot, expired)
        return self._log(f"deleted {rows:,} rows ({expired.condition})", rows=rows) if rows else None

    def optimize(self) -> None:
        sizes, options = self.sizes_of(self._snapshot()), self.config.maintenance.optimize
        for day_files in optimize.plan(sizes, options, self.now):
            day = day_files.date if sizes.dated else None
            closed = day is not None and optimize.is_closed(day, options.closed_after, self.now)
            of = f" of {day}" if day else ""
            if self.dry_run:
                self._log(
                    f"would compact {day_files.small:,} small files{of} ({readable_bytes(day_files.bytes)} in all)"
                )
                continue
            self.began = time.monotonic()
            try:
                compacted = optimize.compact(self.known.table, day, optimize.target_size(options), closed)
            except Refused as refusal:
                return self._log(str(refusal), logging.WARNING)
            if compacted.files_before == 0:  # compacted by another process meanwhile
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
        return None

    def fold(self) -> None:
        self.began = time.monotonic()
        folding = fold.read(self.known.table, self.now.timestamp() - self.config.dedupe.forget_after)
        summary = f"{folding.rows:,} marks into {folding.kept_rows:,}, {folding.forgotten:,} quiet files forgotten"
        numbers = {"rows_before": folding.rows, "rows": folding.kept_rows, "forgotten": folding.forgotten}
        if self.dry_run:
            return self._log(f"would fold {summary}", **numbers)
        if folding.idle:
            return None
        folding.commit()
        return self._log(f"folded {summary}", **numbers)

    def vacuum(self) -> None:
        snapshot, options = self._snapshot(), self.config.maintenance.vacuum
        self._check_retain(snapshot)
        files = vacuum.unneeded(snapshot, options.mode == "lite", self._kept_for(options.retain))
        files += vacuum.checkpoints(snapshot.table.location, self.now.timestamp())
        numbers = {"files": len(files), "bytes": sum(file.size for file in files)}
        size = readable_bytes(numbers["bytes"])
        if self.dry_run:
            return self._log(f"would delete {len(files):,} unneeded files, {size}", **numbers)
        vacuum.delete(snapshot.table.location, files)
        return self._log(f"deleted {len(files):,} unneeded files, {size}", **numbers)

    def _kept_for(self, retain: float) -> float:
        """Return how many seconds files are kept: longer than `retain` if a batch may need them."""
        ahead = 0.0 if self.dry_run else vacuum.clock_ahead(self.known.table.location)
        if ahead:
            self._log(
                f"this host's clock is {ahead:,.0f} s ahead of the file system's clock of {self.known.table.path}; "
                "files are kept that much longer. Correct the clock",
                logging.WARNING,
            )
        return vacuum.kept_for(retain, self.uncommitted_since, ahead)

    def _check_retain(self, snapshot: TableSnapshot) -> None:
        """Warn if the properties of the table are too short for `retain`: it was created with another configuration."""
        assert snapshot.delta is not None
        options = self.config.maintenance.vacuum
        lite, kept = options.mode == "lite", remembered(snapshot.delta.metadata().configuration)
        if kept >= options.retain + (LITE_NEEDS if lite else 0.0):
            return
        self._log(
            f"maintenance.vacuum.retain is {options.retain / DAY:g} days, but the table remembers removed files for "
            f"{kept / DAY:g} days only{', too short for lite' if lite else ''}. Stop the sink and run: ALTER TABLE "
            f"delta.`{self.known.table.path}` SET TBLPROPERTIES ('{REMEMBERED}' = '{days(options.remembered)}')",
            logging.WARNING,
        )

    def _snapshot(self) -> TableSnapshot:
        self.began = time.monotonic()
        return self.known.table.snapshot()

    def sizes_of(self, snapshot: TableSnapshot) -> Sizes:
        """Count the files, only if the table has changed: in most rounds, most steps do nothing."""
        if self._sizes is None or self._sizes.version != snapshot.version:
            self._sizes = sizes_of(snapshot, optimize.small_size(self.config.maintenance.optimize))
        return self._sizes

    def _log(self, message: str, level: int = logging.INFO, **fields: object) -> None:
        seconds = time.monotonic() - self.began
        text = f"{self.known.title}: {message}"
        logger.log(
            level,
            f"{text}, {seconds:.1f} s" if level == logging.INFO else text,
            extra={"table": self.known.table.path, "seconds": round(seconds, 3), **fields},
        )
