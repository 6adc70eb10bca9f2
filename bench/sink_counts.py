"""Counts the rows of a day of `bench.sink_search` as a page does, and prints a line for each answer.

python -m bench.sink_counts PATH [VALUE [TEXT]]
"""

import sys
from collections import Counter
from datetime import timedelta

from bench.sink_search import DAY
from log_shipper.spark_sink.search.counts import Count, Counting
from log_shipper.spark_sink.search.query import Query
from log_shipper.spark_sink.search.sealed import Judge
from log_shipper.spark_sink.search.tables import open_table
from log_shipper.spark_sink.storage.locations import Location


def main(path: str, value: str = "", text: str = "") -> None:
    table = open_table(Location(path))
    query = Query(text, since=DAY, until=DAY + timedelta(days=1))
    count = Count(Counting(query, timedelta(minutes=15), value), table.schema, Judge())
    total = Counter[tuple[int, str | None]]()
    for counts in count.answers(table.files(query)):
        total.update(counts)
        print(len(total), "spans and values,", total.total(), "rows", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
