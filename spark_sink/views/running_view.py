"""The streaming query of one view, and the meaning of Spark's errors."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from log_shipper.spark_sink.errors import SinkError, root_cause, translate
from log_shipper.spark_sink.platform.spark_errors import SPARK_ERRORS
from log_shipper.spark_sink.views import catalyst
from log_shipper.spark_sink.views.progress import PREFIX
from log_shipper.spark_sink.views.view_storage import ViewStorage

# A pattern of Spark's text -> its meaning, and True if the view must be re-created. Other texts are translated like
# everywhere in the sink.
MEANINGS: tuple[tuple[str, str, bool], ...] = (
    (
        r"DELTA_SCHEMA_CHANGED",
        "the columns of the table of lines changed; the view resumes where it stopped when restarted",
        False,
    ),
    (
        r"STATE_STORE_\w*SCHEMA_NOT_COMPATIBLE|STATEFUL_OPERATOR_NOT_MATCH",
        "its checkpoint remembers groups or joins of another sql",
        True,
    ),
    (r"DIFFERENT_DELTA_TABLE_READ", "the table of lines was re-created since the view read it", True),
    (
        r"DELTA_LOG_FILE_NOT_FOUND|DELTA_FILE_NOT_FOUND|FILE_NOT_EXIST|FileNotFoundException|deltaVersionsNotContiguous"
        r"|DELTA_VERSIONS_NOT_CONTIGUOUS",
        "VACUUM or the log's retention removed files that it had not read yet",
        True,
    ),
    (r"DELTA_METADATA_MISMATCH|DELTA_FAILED_TO_MERGE_FIELDS", "its table was changed by another program", True),
)
# Before the restart of a failed query: doubled each time, until a query has run longer than the maximum.
FIRST_WAIT_SECONDS = 10.0
MAX_WAIT_SECONDS = 600.0


@dataclass(slots=True)
class RunningView:
    """One view from its check to the end of its last query. Used by one thread."""

    storage: ViewStorage
    rows: DataFrame
    clock: Callable[[], float] = time.monotonic
    query: StreamingQuery | None = None
    error: SinkError | None = None  # why the view is not running; reset once a restarted query has read something
    details: str = ""  # Spark's full text of the error
    retry_at: float | None = None  # by the clock; None while a query runs, and if a restart would fail, too
    wait: float = 0.0  # seconds from the last failure to the next query
    _started: float = float("-inf")

    @property
    def name(self) -> str:
        return self.storage.entry.view.name

    def start(self, available_now: bool) -> None:
        """Start the query and return at once. Errors are set in `error`."""
        self._started, self.retry_at = self.clock(), None
        view = self.storage.entry.view
        writer = self.rows.writeStream.format("delta").outputMode(view.mode).queryName(PREFIX + view.name)
        writer = writer.option("checkpointLocation", self.storage.checkpoint.location.in_spark)
        if available_now:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{round(view.trigger.interval * 1000)} milliseconds")
        try:
            self.query = writer.start(self.storage.table.location.in_spark)
        except SPARK_ERRORS as error:
            self._fail(str(error))

    def poll(self) -> bool:
        """Return True if the query is running. Sets `error` if it has failed."""
        if self.query is None:
            return False
        if self.query.isActive:
            return True
        if failure := catalyst.failure(self.query):
            self._fail(failure)
        return False

    def fail(self, error: SinkError, details: str, *, final: bool) -> None:
        """Note an error, and when to restart the query; `final`: only at the next start of the sink."""
        if self.clock() - self._started > MAX_WAIT_SECONDS:
            self.wait = 0.0
        self.wait = min(max(2 * self.wait, FIRST_WAIT_SECONDS), MAX_WAIT_SECONDS)
        self.query, self.error, self.details = None, error, details
        self.retry_at = None if final else self.clock() + self.wait

    def is_due(self) -> bool:
        """Return True if the query has failed, and the wait is over."""
        return self.retry_at is not None and self.clock() >= self.retry_at

    def has_running_batch(self) -> bool:
        return self.poll() and self.query is not None and bool(self.query.status["isTriggerActive"])

    def stop(self) -> None:
        if self.query is not None:
            self.query.stop()

    def _fail(self, text: str) -> None:
        doing = f"the view {self.name} ({self.storage.table.path}) has stopped"
        for pattern, meaning, must_rebuild in MEANINGS:
            if re.search(pattern, text):
                ways_out = f". {self.storage.ways_out}" if must_rebuild else ""
                error = SinkError(f"{doing}: {meaning}{ways_out}: {root_cause(text)}")
                return self.fail(error, text, final=must_rebuild)
        return self.fail(translate(text, doing), text, final=False)
