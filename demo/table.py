"""The Delta table, queried with DuckDB."""

from typing import Any, NamedTuple

from deltalake import DeltaTable

from demo.compare import Arrived
from demo.site import Site

MESSAGES = """
SELECT CAST(doc ->> '$.log.file.device_id' AS BIGINT), CAST(doc ->> '$.log.file.inode' AS BIGINT),
       "offset", length, message, "partition", kafka_offset
FROM lines
"""

ROWS = """
SELECT strftime(make_timestamp(epoch_us(ts)), '%H:%M:%S.%g') AS ts, split_part(path, '/', -1) AS file, "offset",
       flags[1] AS flag, replace(message, chr(10), ' ⏎ ') AS message
FROM lines
QUALIFY row_number() OVER (PARTITION BY file, flags IS NULL
                           ORDER BY NOT regexp_matches(message, 'Exception| ERROR '), "offset") = 1
ORDER BY file, flag
"""

AGGREGATE = """
SELECT split_part(path, '/', -1) AS file, count(*) AS messages,
       sum(len(string_split(message, chr(10))))::BIGINT AS lines,
       count(*) FILTER (list_contains(flags, 'multiline')) AS multiline,
       count(*) FILTER (contains(message, ' ERROR ')) AS errors,
       max(fields ->> '$.service') AS service,
       round(median(epoch_us(kafka_ts) - epoch_us(ts)) / 1000, 1) AS ms_read_to_sent
FROM lines GROUP BY 1 ORDER BY messages DESC
"""


class Answer(NamedTuple):
    """The rows of a query, and the names of their columns."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class TableReader:
    """The table of a demo; each query reads its latest version."""

    def __init__(self, site: Site) -> None:
        self._path = str(site.table)

    def query(self, text: str) -> Answer:
        """Answer a query in DuckDB's SQL, in which the table is named `lines`."""
        import duckdb  # not at the top of the module: DuckDB would report leaks when Python exits

        with duckdb.connect() as database:
            database.register("lines", DeltaTable(self._path).to_pyarrow_dataset())
            answer = database.sql(text)
            columns = tuple(answer.columns)
            # Through Arrow: DuckDB's own conversion to Python's datetime needs pytz.
            return Answer(columns, list(zip(*(column.to_pylist() for column in answer.to_arrow_table()), strict=True)))

    def messages(self, count_to: dict[int, int]) -> list[Arrived]:
        """Return the rows before these offsets of the topic."""
        return [
            Arrived((device, inode), offset, length, message)
            for device, inode, offset, length, message, partition, kafka_offset in self.query(MESSAGES).rows
            if kafka_offset < count_to.get(partition, 0)
        ]

    def rows(self) -> Answer:
        """Return one single-line and one multiline message of each file, preferably errors."""
        return self.query(ROWS)

    def aggregate(self) -> Answer:
        return self.query(AGGREGATE)
