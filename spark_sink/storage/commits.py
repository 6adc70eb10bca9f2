"""Commits data files to a table, without Java.

Every commit is a compare-and-swap: it follows the version that this process has read and examined, and fails if there
is a newer one. On a local file system `commit_files` writes it, elsewhere deltalake, by a conditional put
(`max_commit_retries=0`). Conflicts are decided here:

    read the newest version ─► is it writable? has it the batch? ─► commit the next one
             ▲                                                              │
             └─── another process committed first, or the answer was lost ◄─┘

- Another process only appended, compacted, deleted or vacuumed: retry with the next version, which cannot have these
  files.
- It committed the same batch or a later one: Refused. Of two jobs with one checkpoint, one fails.
- It took the same turn, in a table with numbered appends: Refused. This process has outdated marks.
- It changed the schema, properties or table features: the table is examined again.
- An error after the commit was written (an object store's answer was lost, and the client's retry found the file): the
  commit is recognised by the unique id in its `commitInfo`.
- An error without a new version: retried at most FAILURES times. A put that timed out and succeeds late is recognised
  by its id too, because only one of the two can succeed.

On a local file system the data files are durable before the commit is written, and the commit before `append` returns
(`power_cuts`). A process killed during a commit leaves a complete commit or none. It may also leave a file `…json#…` in
`_delta_log`, which readers ignore.

New commits are read one by one, and deltalake opens the table only for operations that need all of it: per commit,
deltalake lists the whole log on a local file system, and goes through all data files twice. So a commit takes 1 ms of
CPU, however large table and log are; with deltalake it would be 48 ms with 20,000 files in the log (a day of batches
every 5 s), and 400 ms with 100,000 data files.
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

TRIES = 20  # attempts that lost to another process, which commits every few milliseconds at most
FAILURES = 3  # deltalake itself does not retry a conditional put without an answer
TURNS = "spark-sink turns"  # the txnAppId under which the log has the number of the last numbered append
CHECKPOINT_INTERVAL = 100  # commits, unless the table has a valid delta.checkpointInterval
# The member of commitInfo by which a process recognises its own commit. Clients must not set Delta's `txnId`.
COMMIT_ID = "sinkCommit"

# deltalake's hooks are off: an error in one would look like a failed commit, and the clean-up lists the whole log for
# each commit.
NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
_ERRORS = (DeltaError, OSError)

_FileState = tuple[int | None, int | None]  # size in bytes and time of the last change, None without a file


@dataclass(slots=True)
class CommitLog:
    """The log of an existing table, as this process last read it. `table`: see `read_table`. Used by one thread."""

    location: Location
    table: DeltaTable
    version: int = field(init=False)  # the newest version read
    _files: fs.FileSystem = field(init=False)
    _newest: _FileState = field(init=False)  # of the newest commit's file
    _examined: object = field(init=False, default=None)
    _own: int = field(init=False, default=NO_BATCH)  # the version of the last commit of this process
    _own_id: str = field(init=False, default="")  # the id in that commit
    _batches: dict[str, int] = field(init=False, default_factory=dict)  # the last batch by query id, cached
    _cleaned: str = field(init=False, default="")  # the day of the last clean-up
    _durable: int = field(init=False)  # the last fsynced version
    # The size of the table; None until it is counted, and again after a commit of another process.
    size: TableSize | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._files = self.location.files()
        self.version = self.table.version()
        self._newest = self._file_of(self.version)
        self._examine()
        self._durable = self.version - CHECKPOINT_INTERVAL  # others may have just written the last ones, without fsync

    def read_table(self) -> DeltaTable:
        """Return the table at the read version or a newer one. May raise deltalake's errors."""
        if self.table.version() < self.version:
            self.table.update_incremental()
        return self.table

    def count_size(self) -> TableSize:
        """Count the table's files; later commits of this process are added. Slow for many files. Raises SinkError."""
        try:
            # Not `read_table`, which has the version of the last `refresh`: a new `refresh` may be refused.
            table = self.location.open()
            self.size = TableSize(0, 0, 0) if table is None else count(table)
        except (*_ERRORS, pa.ArrowException) as error:
            raise SinkError(f"cannot read the files of the table {self.location.path}: {error}") from error
        return self.size

    def last_batch(self, query_id: str) -> int:
        """Return the last batch that this query has committed, NO_BATCH without one, as of `version`."""
        if query_id not in self._batches:
            batch = self.read_table().transaction_version(query_id)
            self._batches[query_id] = NO_BATCH if batch is None else batch
        return self._batches[query_id]

    def refresh(self) -> int:
        """Read new commits, and return the newest version.

        Raises Refused if the table is missing, re-created or restored, or has unsupported features.
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
            raise SinkError(f"cannot read the Delta log of the table {self.location.path}: {error}") from error
        if any(commit["version"] != self._own for commit in commits):
            self.size = None
            self._batches.clear()
        self._check_not_restored(commits)
        if self.location.is_s3:
            self._check_not_overwritten(commits)
        return self.version

    def _read_new(self) -> Iterator[Mapping[str, Any]]:
        """Read the commits after `version`, and yield their `commitInfo`."""
        while True:
            commit = next(read_commits(self._files, range(self.version + 1, self.version + 2)), None)
            if commit is None:
                return
            self.version += 1
            yield commit

    def append(self, files: Sequence[DataFile], txn: TxnId | None, turn: int | None = None) -> int:
        """Commit the files with the transaction id, if any, and return the table's new version. `turn`: the number of
        the append, in a table with numbered appends.

        Raises Refused if the table already has this batch or turn, or a later one, and like `refresh`; SinkError if the
        commit cannot be written, or other processes committed first TRIES times. After an error nothing is committed,
        unless the log could not be read.
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
                if not self.location.is_s3:  # on S3 `refresh` reads it again: Delta's Java may have overwritten it
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
        """Raise Refused if one of the commits is a RESTORE: rows that count as landed are missing."""
        for commit in commits:
            if commit.get("operation") == "RESTORE":
                raise Refused(
                    f"the table {self.location.path} was restored to an earlier version (version {commit['version']} "
                    "is a RESTORE), so landed rows are missing. Run spark-sink repair --from-kafka, which lands "
                    "again the missing rows that Kafka still has"
                )

    def _check_not_overwritten(self, commits: Sequence[Mapping[str, Any]]) -> None:
        """Raise Refused if Spark wrote to a table on S3: its commits are not conditional puts, and may overwrite
        commits of the same version."""
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
        """Raise Refused if another process has taken the turn, and like `refresh`."""
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
        """Write the version after the read one. Raises an error if that version exists."""
        now = round(time.time() * 1000)
        # Delta's Java writes the first two, and reads them in a concurrent data change.
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
        """Check the table if its protocol or metadata has changed. Raises Refused."""
        table = self.read_table()
        metadata = table.metadata()
        state = (table.protocol(), metadata.id, metadata.configuration, table.schema().to_json())
        if state != self._examined:
            check_writable(self.location.path, table)
            self._examined = state

    def _reopen(self) -> None:
        """Open the table again: its newest known commit is missing, or another file. Raises Refused."""
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
        return info.size, info.mtime_ns  # two FileInfo objects are never equal, even of the same file

    def sync(self, version: int) -> None:
        """Fsync all commits up to this version, whoever wrote them: if a power cut tore an earlier one, it would look
        like damage. Raises SinkError."""
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
        """Write a checkpoint of the log when it is due, and delete expired commits once a day. Errors are only logged:
        the rows are committed, and the next checkpoint replaces this one.

        The table is then opened again, from the checkpoint: each commit read one by one takes 0.1 MB of memory."""
        properties = self.table.metadata().configuration
        given = properties.get("delta.checkpointInterval", "")
        if version % (int(given) if given.isdecimal() and int(given) else CHECKPOINT_INTERVAL):
            return
        try:
            self.table.update_incremental()
            self.table.create_checkpoint()
            today = datetime.now(UTC).date().isoformat()
            if properties.get("delta.enableExpiredLogCleanup", "true") == "true" and self._cleaned != today:
                self._cleaned = today
                # The commits before the checkpoint are deleted next.
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
    """Return the version whose commit has this id, None without one. `files`: of the table's directory. May raise
    OSError."""
    commits = read_commits(files, versions)
    return next((int(commit["version"]) for commit in commits if commit.get(COMMIT_ID) == commit_id), None)


def last_turn(table: DeltaTable) -> int:
    """Return the number of the last numbered append to a table, NO_BATCH without one."""
    turn = table.transaction_version(TURNS)
    return NO_BATCH if turn is None else turn
