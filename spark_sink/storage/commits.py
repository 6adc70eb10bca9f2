"""Commits data files to a table. No Java takes part.

Every commit is a compare-and-swap: it is for the one version that this process has read and examined, and is refused
where that is not the newest any more. On a local file system `commit_files` writes it, elsewhere deltalake does by a
conditional put (`max_commit_retries=0`). What is a conflict is decided here:

    read the newest version ─► is it writable? has it the batch? ─► commit the next one
             ▲                                                              │
             └──────── another process was first, or the answer was lost ◄──┘

- Another process that only wrote, compacted, deleted or vacuumed: the files are new to any version, so they are
  committed to the next one.
- One that committed the same batch, or a later one: Refused. Of two jobs with one checkpoint, one fails.
- One that took the same turn, in a table whose appends are numbered: Refused. What its writer has read is out of date.
- One that changed what a writer has to know (schema, properties, table features): it is examined again.
- An error after the commit was written (an object store's answer was lost, and its retry met the first one's file):
  each commit has an id of its own in its `commitInfo`, and is recognised by it.
- An error, and no new version: it is written again, FAILURES times at most. A put that timed out and is done late is
  recognised in the same way, because only one of the two can succeed.

On a local file system the data files are durable before the commit is written, and the commit before `append` returns
(`power_cuts`).

A process killed within a commit leaves the commit, or none. On a local disk it may also leave a file `…json#…` in
`_delta_log`, which no reader takes for a commit.

What is new is read commit by commit, and deltalake opens the table only for what needs all of it: for each of its
commits it lists the whole log on a local file system, and goes through all data files twice. So a commit takes 1 ms of
CPU, whatever is in the table and its log; by deltalake it would be 48 ms with 20,000 files in the log (a day of batches
each 5 s), and 400 with 100,000 data files.
"""

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction
from pyarrow import fs

from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.storage.commit_files import append_actions, write_commit
from log_shipper.spark_sink.storage.data_files import DataFile
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.power_cuts import sync_files
from log_shipper.spark_sink.storage.table_size import TableSize, count, size_of
from log_shipper.spark_sink.storage.tables import NO_BATCH, TxnId, read_commits
from log_shipper.spark_sink.storage.writable import check_writable

logger = logging.getLogger(__name__)

TRIES = 20  # each one was lost to a commit of another process, and those come some milliseconds apart at most
FAILURES = 3  # deltalake itself does not repeat a put with a condition that was not answered
TURNS = "spark-sink turns"  # the txnAppId under which the log has the number of the last numbered append
CHECKPOINT_INTERVAL = 100  # commits, where the table does not say otherwise (delta.checkpointInterval)
# The member of commitInfo by which a process knows its own commit. Delta's own `txnId` is not for clients to set.
COMMIT_ID = "sinkCommit"

# deltalake's own hooks are off: an error in one would look as if the commit had failed, and the clean-up of the log
# lists all of it for each commit.
NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
_ERRORS = (DeltaError, OSError)

_FileState = tuple[int | None, int | None]  # its size in bytes and when it was written, None where there is no file


@dataclass(slots=True)
class CommitLog:
    """The log of an existing table, as this process has read it last. `table`: see `read_table`. Used by one thread."""

    location: Location
    table: DeltaTable
    version: int = field(init=False)  # the newest one that was read
    _files: fs.FileSystem = field(init=False)
    _newest: _FileState = field(init=False)  # of the newest commit's file
    _examined: object = field(init=False, default=None)
    _own: int = field(init=False, default=NO_BATCH)  # the version of the last commit of this process
    _own_id: str = field(init=False, default="")  # the id in it
    _batches: dict[str, int] = field(init=False, default_factory=dict)  # the last one by query id, as far as is known
    _cleaned: str = field(init=False, default="")  # the day of the last clean-up
    _durable: int = field(init=False)  # the last version that was fsynced
    # The size of the table; None until it is counted, and again when another process has changed it.
    size: TableSize | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._files = self.location.files()
        self.version = self.table.version()
        self._newest = self._file_of(self.version)
        self._examine()
        self._durable = self.version - CHECKPOINT_INTERVAL  # others may have written the last ones a moment ago

    def read_table(self) -> DeltaTable:
        """Return the table at the version that was read, or a newer one. May raise deltalake's errors."""
        if self.table.version() < self.version:
            self.table.update_incremental()
        return self.table

    def count_size(self) -> TableSize:
        """Count the table's files; own commits are then added. Takes as long as they are many. Raises SinkError."""
        try:
            # Not `read_table`, which is as of the last `refresh`, and that one may be refused.
            table = self.location.open()
            self.size = TableSize(0, 0, 0) if table is None else count(table)
        except (*_ERRORS, pa.ArrowException) as error:
            raise SinkError(f"cannot read the files of the table {self.location.path}: {error}") from error
        return self.size

    def last_batch(self, query_id: str) -> int:
        """Return the batch that this query has committed last, NO_BATCH without one, as of `version`."""
        if query_id not in self._batches:
            batch = self.read_table().transaction_version(query_id)
            self._batches[query_id] = NO_BATCH if batch is None else batch
        return self._batches[query_id]

    def refresh(self) -> int:
        """Read what is new, and return the newest version.

        Raises Refused where the table is missing, re-created or restored, or has what the sink does not write.
        """
        try:
            if self._file_of(self.version) != self._newest:
                self._reopen()
            commits = list(self._read_new())
            if commits:
                self._newest = self._file_of(self.version)
            if any(commit["examine"] for commit in commits):
                self._examine()
        except (*_ERRORS, ValueError) as error:
            raise SinkError(f"cannot read the log of the table {self.location.path}: {error}") from error
        if any(commit["version"] != self._own for commit in commits):
            self.size = None
            self._batches.clear()
        self._check_not_restored(commits)
        if self.location.is_s3:
            self._check_not_overwritten(commits)
        return self.version

    def _read_new(self) -> Iterator[Mapping[str, Any]]:
        """Read the commits after the version that was read, and yield their `commitInfo`."""
        while True:
            commit = next(read_commits(self._files, range(self.version + 1, self.version + 2)), None)
            if commit is None:
                return
            self.version += 1
            yield commit

    def append(self, files: Sequence[DataFile], txn: TxnId | None, turn: int | None = None) -> int:
        """Commit the files, under the name of a batch if there is one, and return the table's new version. `turn`: the
        number of the append, in a table whose appends are numbered.

        Raises Refused where the table has the batch or the turn already, or a later one, and as `refresh`; SinkError
        where the commit cannot be written, or others were faster TRIES times. After an error nothing was committed, as
        far as the log could still be read.
        """
        named = [txn] if txn is not None else []
        if turn is not None:
            named.append(TxnId(TURNS, turn))
        commit_id, error, failures = uuid4().hex, None, 0
        self._sync_files(file.path for file in files)
        for _ in range(TRIES):
            read = self.refresh()
            self._check_batch(txn)
            self._check_turn(turn)
            self.sync(read)
            try:
                self._write(files, named, commit_id)
            except _ERRORS as failed:
                error = failed
            else:
                self.sync(read + 1)
                self._own, self._own_id = read + 1, commit_id
                if not self.location.is_s3:  # there it is looked at: Delta's Java may overwrite what others committed
                    self.version, self._newest = read + 1, self._file_of(read + 1)
                self._batches |= {name.query_id: name.batch for name in named}
                if self.size is not None:
                    self.size += size_of(files)
                self._maintain_log(read + 1)
                return read + 1
            if self.refresh() == read and (failures := failures + 1) == FAILURES:
                raise SinkError(f"cannot write the Delta log of the table {self.location.path}: {error}") from error
            if (own := version_of(self._files, commit_id, range(read + 1, self.version + 1))) is not None:
                self.sync(own)
                return own
        raise SinkError(
            f"the table {self.location.path}: cannot commit: other programs committed first, {TRIES} times in a row. "
            "Find out which programs write to it"
        ) from error

    def _check_not_restored(self, commits: Sequence[Mapping[str, Any]]) -> None:
        """Raise Refused where one of the commits set the table back: rows that count as landed are missing."""
        for commit in commits:
            if commit.get("operation") == "RESTORE":
                raise Refused(
                    f"the table {self.location.path} was restored to an earlier version (version {commit['version']} "
                    "is a RESTORE), so landed rows are missing. Run spark-sink repair --from-kafka, which lands "
                    "again the missing rows that Kafka still has"
                )

    def _check_not_overwritten(self, commits: Sequence[Mapping[str, Any]]) -> None:
        """Raise Refused where a program of Spark wrote to a table on S3: of two commits of one version the last wins
        there, and only deltalake's are conditional puts."""
        for commit in commits:
            if commit["version"] == self._own and commit.get(COMMIT_ID) != self._own_id:
                raise Refused(
                    f"the commit {self._own} of the table {self.location.path} was overwritten by another program: "
                    "landed rows are missing. Run spark-sink repair --from-kafka while no other program writes to "
                    "the table"
                )
            if str(commit.get("engineInfo", "")).startswith("Apache-Spark"):
                raise Refused(
                    f"Spark ({commit.get('operation')}, version {commit['version']}) wrote to the table "
                    f"{self.location.path} while the sink was running: on S3 this can overwrite a commit and lose its "
                    "rows. Stop spark-sink run during OPTIMIZE and the like (docs/guides/object-stores.md), then start "
                    "it again"
                )

    def _check_batch(self, txn: TxnId | None) -> None:
        if txn is not None and (known := self.last_batch(txn.query_id)) >= txn.batch:
            raise Refused(
                f"the table {self.location.path} already has batch {known} of this checkpoint, but not the rows of "
                f"batch {txn.batch}: a second job runs with the same checkpoint, or the checkpoint was set back. "
                "Stop the other job; or start this one again, and a new checkpoint resumes where the marks end"
            )

    def check_turn(self, turn: int) -> None:
        """Raise Refused where another process has taken the turn, and as `refresh`."""
        self.refresh()
        self._check_turn(turn)

    def _check_turn(self, turn: int | None) -> None:
        if turn is not None and self.last_batch(TURNS) >= turn:
            raise Refused(
                f"another process is writing to the table {self.location.path}: a second spark-sink run, or "
                "spark-sink repair. Only one may run at a time. Stop the other process, or let it finish, and start "
                "this one again; no line is lost, and none lands twice"
            )

    def _write(self, files: Sequence[DataFile], named: Sequence[TxnId], commit_id: str) -> None:
        """Write the version after the one that was read. Raises an error where there is one already."""
        now = round(time.time() * 1000)
        # Delta's Java writes the first two: a concurrent change of data looks at them.
        info = {"isBlindAppend": True, "isolationLevel": "Serializable", COMMIT_ID: commit_id}
        if (directory := self.location.directory) is not None:
            return write_commit(directory, self.version + 1, append_actions(files, named, now, info))
        transactions = [Transaction(txn.query_id, txn.batch, now) for txn in named]
        if (table := self.read_table()).version() != self.version:  # not examined yet
            raise FileExistsError(f"version {self.version + 1} exists")
        return table.create_write_transaction(
            [AddAction(file.path, file.size, file.partition, now, True, file.statistics) for file in files],
            "append",
            table.schema(),
            table.metadata().partition_columns,
            commit_properties=CommitProperties(info, max_commit_retries=0, app_transactions=transactions),
            post_commithook_properties=NO_HOOKS,
        )

    def _examine(self) -> None:
        """Check the table where it is not as it was. Raises Refused."""
        table = self.read_table()
        metadata = table.metadata()
        state = (table.protocol(), metadata.id, metadata.configuration, table.schema().to_json())
        if state != self._examined:
            check_writable(self.location.path, table)
            self._examined = state

    def _reopen(self) -> None:
        """Read the table from its beginning: the commit that was the newest is not as it was. Raises Refused."""
        table = self.location.open()
        if table is None:
            state = "is missing"
        elif table.metadata().id != self.table.metadata().id:
            state = "was re-created"
        elif table.version() < self.version:
            state = f"was at version {self.version}, and is now at version {table.version()}"
        else:
            self.table, self.version, self.size = table, table.version(), None
            self._newest = self._file_of(self.version)
            self._batches.clear()
            return self._examine()
        raise Refused(
            f"the table {self.location.path} {state}, so landed rows are missing. Run spark-sink repair --from-kafka, "
            "which lands again the missing rows that Kafka still has"
        )

    def _file_of(self, version: int) -> _FileState:
        info = self._files.get_file_info(f"_delta_log/{version:020}.json")
        return info.size, info.mtime_ns  # an `info` is equal to none, not even to that of the same file

    def sync(self, version: int) -> None:
        """Make all commits up to this version survive a power cut, whoever wrote them: one that is torn below another
        could not be told from damage. Raises SinkError."""
        files = (f"_delta_log/{number:020}.json" for number in range(max(self._durable + 1, 0), version + 1))
        self._sync_files(file for file in files if self._files.get_file_info(file).is_file)
        self._durable = max(self._durable, version)

    def _sync_files(self, files: Iterable[str]) -> None:
        try:
            if self.location.fsync and (directory := self.location.directory) is not None:
                sync_files(directory, files)
        except OSError as error:
            raise SinkError(
                f"cannot fsync the table {self.location.path}: {error}. Check the disk; fsync: false disables this"
            ) from error

    def _maintain_log(self, version: int) -> None:
        """Write a checkpoint of the log when it is due, and once a day delete what is older than it is kept. An error
        is logged: the rows are committed, and the next checkpoint will do.

        The table is then read again, from the checkpoint: commits that were read one by one take 0.1 MB each."""
        properties = self.table.metadata().configuration
        if version % int(properties.get("delta.checkpointInterval") or CHECKPOINT_INTERVAL):
            return
        try:
            self.table.update_incremental()
            self.table.create_checkpoint()
            today = datetime.now(UTC).date().isoformat()
            if properties.get("delta.enableExpiredLogCleanup", "true") == "true" and self._cleaned != today:
                self._cleaned = today
                # The commits that it stands for are about to be deleted.
                checkpoint = f"_delta_log/{self.table.version():020}.checkpoint.parquet"
                self._sync_files(("_delta_log/_last_checkpoint", checkpoint))
                self.table.cleanup_metadata()
            if (read := self.location.open()) is not None and read.metadata().id == self.table.metadata().id:
                self.table = read
        except (*_ERRORS, SinkError) as error:
            logger.warning(
                f"cannot checkpoint the Delta log of {self.location.path} at version {version}; the table becomes "
                f"slower to read and write: {error}",
                extra={"table": self.location.path},
            )


def version_of(files: fs.FileSystem, commit_id: str, versions: range) -> int | None:
    """Return which of these versions of a table has the commit with this id. `files`: those of the table's directory.
    May raise OSError."""
    commits = read_commits(files, versions)
    return next((int(commit["version"]) for commit in commits if commit.get(COMMIT_ID) == commit_id), None)


def last_turn(table: DeltaTable) -> int:
    """Return the number of the last numbered append to a table, below 0 where there is none."""
    turn = table.transaction_version(TURNS)
    return NO_BATCH if turn is None else turn
