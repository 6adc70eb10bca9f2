"""Everything that is looked at before the first batch: what has landed, and whether it fits together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from config.sink.model import SinkConfig
from spark_sink.delta import NO_BATCH
from spark_sink.errors import Refused
from spark_sink.kafka.offsets import Offsets, words
from spark_sink.landing import guard, leftovers, marks
from spark_sink.landing.adoption import adopt, complete_until, ends_of
from spark_sink.landing.batch import Lander
from spark_sink.landing.lake import Lake
from spark_sink.landing.leftovers import Leftovers
from spark_sink.landing.marks import Marks
from spark_sink.records.transform import Transform
from spark_sink.storage.checkpoint import Checkpoint
from spark_sink.storage.tables import Table


@dataclass(frozen=True, slots=True)
class Opening:
    """Makes the one that lands batches. `topics`: all that are read, with Kafka's id of each, "" where it has none;
    `first`: the first offset that Kafka has, of each partition that is read."""

    spark: SparkSession
    config: SinkConfig
    checkpoint: Checkpoint
    topics: Mapping[str, str]
    first: Offsets
    clock: Callable[[], float]
    say: Callable[[str], None]

    def lander(self) -> Lander:
        """Raises Refused where going on would lose rows or land them twice, SinkError where a table will not do."""
        transform = Transform(self.config)
        lake = Lake(self.spark, self.config, transform.columns, self.say)
        found = marks.load(lake.state, self.clock() - self.config.dedupe.forget_after)
        lines = lake.known(found)
        self._check(lake, lines, found)
        found.note_topics(self.topics)
        lake.prepare()
        adopted = self._adopted(lake, lines, found) if found.landing == 0 else []
        rest = leftovers.find(lines, lake.dead_letter, found, self.topics, self.clock())
        rest.files += adopted
        self._tell(rest)
        lander = Lander(lake, transform, found, rest, clock=self.clock)
        if found.landing == 0 and self.config.start == "table":
            lander.begin()
        return lander

    def _check(self, lake: Lake, lines: list[Table], found: Marks) -> None:
        tables = [*lines, lake.dead_letter]
        guard.check_topics(found, self.topics)
        self._lower(found)
        guard.check_checkpoint(self.checkpoint, tables, list(self.topics), self.config.start)
        guard.check_ends(self.checkpoint, found.ends)
        guard.check_versions({table.path: table for table in tables}, found.versions)

    def _lower(self, found: Marks) -> None:
        """Of a partition that was out of the configuration and is back, the checkpoint says nothing: Spark takes it for
        a new one, and reads it from its first record. So its mark goes back to there, and `leftovers` finds its rows.
        """
        if self.checkpoint.last_committed() == NO_BATCH:
            return
        goes_on, planned = self.checkpoint.goes_on(), self.checkpoint.ends(self.checkpoint.last_planned())
        back = [at for at in self.first if at in found.ends and at not in goes_on]
        for at in back:
            found.ends[at] = min(found.ends[at], self.first[at], planned.get(at, found.ends[at]))
        if back:
            self.say(
                f"{words(back)}: the checkpoint does not name what has landed before, so it is read again; what is in "
                "the tables is looked up, and left out"
            )

    def _adopted(self, lake: Lake, lines: list[Table], found: Marks) -> list[tuple[str, marks.File]]:
        """Of tables that have rows and no marks."""
        committed = self.checkpoint.last_committed()
        new = self.checkpoint.last_planned() == NO_BATCH
        bad = lake.dead_letter.snapshot()
        if self.config.has_template and (committed != NO_BATCH or (new and bad.has_rows_of(list(self.topics)))):
            raise Refused(
                f"the marks table {lake.state.path} is gone or empty, and with a template in table.path only it knows "
                "the tables. Bring it back (a backup, or state.path as it was before)"
            )
        if committed == NO_BATCH and not (self.config.start == "table" and lake.dead_letter.exists()):
            return []  # the very first batch, or a part of it: leftovers
        ends = complete_until(self.checkpoint.ends(committed), ends_of([*lines, lake.dead_letter]))
        if not ends:
            return []
        self.say("the tables have rows and no marks yet: reading which files they came from")
        return adopt(found, lines, ends, self.clock())

    def _tell(self, rest: Leftovers) -> None:
        if rest.rows:
            self.say(f"a batch was begun and not ended: its rows in {', '.join(rest.rows)} are not landed again")
