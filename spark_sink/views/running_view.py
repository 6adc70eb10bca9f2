"""The streaming query of one view, and what Spark's text means when it fails."""

import re
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from spark_sink.errors import SPARK_ERRORS, SinkError, root_cause, translate
from spark_sink.views import catalyst
from spark_sink.views.progress import PREFIX
from spark_sink.views.view_storage import ViewStorage

# What Spark's text contains -> what it means, and True if the view can only be rebuilt. Any other text is translated as
# everywhere in the sink.
MEANINGS: tuple[tuple[str, str, bool], ...] = (
    (
        r"DELTA_SCHEMA_CHANGED",
        "the columns of the table of lines were changed while it ran; start the sink again, the view resumes where it "
        "is",
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
        "it was so far behind that VACUUM or the log's retention has removed what it had not read yet",
        True,
    ),
    (r"DELTA_METADATA_MISMATCH|DELTA_FAILED_TO_MERGE_FIELDS", "its table was changed by another program", True),
)


@dataclass(slots=True)
class RunningView:
    """One view from its check to the end of its query. Used by one thread."""

    storage: ViewStorage
    rows: DataFrame
    query: StreamingQuery | None = None
    error: SinkError | None = None
    details: str = ""  # Spark's whole text of the error

    @property
    def name(self) -> str:
        return self.storage.entry.view.name

    def start(self, available_now: bool) -> None:
        """Start the query and return at once. What fails is in `error`."""
        view = self.storage.entry.view
        writer = self.rows.writeStream.format("delta").outputMode(view.mode).queryName(PREFIX + view.name)
        writer = writer.option("checkpointLocation", self.storage.checkpoint.path)
        if available_now:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{round(view.trigger.interval * 1000)} milliseconds")
        try:
            self.query = writer.start(self.storage.table.path)
        except SPARK_ERRORS as error:
            self._fail(str(error))

    def poll(self) -> bool:
        """Return True if the query still runs. Notes in `error` why it has failed."""
        if self.query is None or self.error is not None:
            return False
        if self.query.isActive:
            return True
        if failure := catalyst.failure(self.query):
            self._fail(failure)
        return False

    def has_running_batch(self) -> bool:
        return self.poll() and self.query is not None and bool(self.query.status["isTriggerActive"])

    def stop(self) -> None:
        if self.query is not None:
            self.query.stop()

    def _fail(self, text: str) -> None:
        self.details = text
        self.error = _translated(text, self.storage)


def _translated(text: str, storage: ViewStorage) -> SinkError:
    doing = f"the view {storage.entry.view.name} ({storage.table.path}) has stopped"
    for pattern, meaning, must_rebuild in MEANINGS:
        if re.search(pattern, text):
            ways_out = f". {storage.ways_out}" if must_rebuild else ""
            return SinkError(f"{doing}: {meaning}{ways_out}: {root_cause(text)}")
    return translate(text, f"{doing}, and resumes there when the sink is started again")
