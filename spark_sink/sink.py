"""Lands one batch: its good rows in the table of lines, its bad records in the dead-letter table.

Spark runs a batch again when it was killed before the batch's commit was written. So each table gets exactly one append
a batch, named by the query id and the batch's number, and Delta skips a name that it has seen: whichever of the two was
done before the kill is not done again.

    offsets/N written │ append good │ append bad │ commits/N written
                      └ killed here: both run    └ here: both are skipped

Bad records are rare. They are counted while the good rows are written, and the batch is read a second time only when
there are some. A batch whose good rows were landed before cannot be counted that way, so it is always read again.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from spark_sink import transform
from spark_sink.tables import Table


@dataclass(frozen=True, slots=True)
class Landed:
    """What a batch brought. Rows that an earlier run of the same batch landed are not counted again."""

    batch: int
    rows: int
    bad: int
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Sink:
    """Writes under one query's name. `write_batch` may be called again with the same batch: it lands once."""

    lines: Table
    dead_letter: Table
    query_id: str

    def write_batch(self, records: DataFrame, batch: int) -> Landed:
        parsed = transform.parse(records)
        repeated = self.lines.last_batch(self.query_id) >= batch
        landed = Landed(batch, 0, 0, repeated=True) if repeated else self._land(parsed, batch)
        if repeated or landed.bad:
            self.dead_letter.append(transform.bad(parsed), self.query_id, batch)
        return landed

    def _land(self, parsed: DataFrame, batch: int) -> Landed:
        seen = Observation(f"batch {batch}")
        # Observing also keeps the filter behind it from being pushed below the parsing, which would then be done twice.
        counted = parsed.observe(seen, F.count(F.lit(1)).alias("records"), F.count(transform.REASON).alias("bad"))
        self.lines.append(transform.good(counted), self.query_id, batch)
        records, bad = seen.get["records"], seen.get["bad"]
        return Landed(batch, records - bad, bad)
