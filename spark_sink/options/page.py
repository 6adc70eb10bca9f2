"""The page of all options: `python -m log_shipper.spark_sink.options.page` prints docs/reference/sink-options.md."""

import sys
from textwrap import fill

from log_shipper.config.reference import limits, table
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.tables import BUILT_IN

_INTRODUCTION = """# Sink options

All options of `sink.yml`, generated from the code (`python -m log_shipper.spark_sink.options.page`). `a.b: 1` and
`a: {{b: 1}}` mean the same everywhere. A size is a number of bytes or has a unit (`64KiB`, `1GiB`, `1MB`); a duration
is a number of seconds or has units (`100ms`, `1m30s`, `24h`), and where it may be long, days (`14d`); a time is ISO
8601 (`2026-11-21T09:30:00Z`), in UTC unless it has a zone. A list of one item may be written without the list.
`${{VAR}}`, `${{VAR:default}}` and `${{VAR:?message}}` are replaced by variables of the environment; a
default begins right after the colon, so that of `${{VAR:-x}}` is `-x`. `-E key=value` overrides an option. `spark-sink
test config -c sink.yml` checks a file, and `spark-sink export config -c sink.yml` prints the configuration in effect,
with secrets masked. `spark-sink schema > sink.schema.json` writes a JSON
schema for editors: one with the YAML language server completes options and marks mistakes in a file that begins with
`# yaml-language-server: $schema=sink.schema.json`.

Every table has the columns
{columns};
`columns` adds others, and `doc` contains all other fields of a record. A template in `table.path` makes several tables.
`%{{[topic]}}` is Kafka's topic, any other name a field of the record (`%{{[a.b]}}` and `%{{[a][b]}}` are the same); the
text after `]:` is used where a record lacks the field, and without it such a record is a bad record. The other tables
are named after the directories before the template: with `/lake/logs/%{{[topic]}}`, bad records are written to
`/lake/logs_dead_letter`.

```yaml
kafka:
  hosts: ["localhost:9092"]
  topics: [logs, audit]
table.path: /lake/logs/%{{[topic]}}
checkpoint.path: /lake/logs_checkpoint
columns:
  - {{name: status, path: http.response.status_code, type: int}}
views:
  - name: errors_a_minute
    source: /lake/logs/logs
    watermark: 10m
    sql: >
      SELECT window.start AS minute, host, count(*) AS errors FROM lines
      WHERE message LIKE '%ERROR%' GROUP BY window(ts, '1 minute'), host
```
"""


def page() -> str:
    """Return the content of docs/reference/sink-options.md."""
    introduction = _INTRODUCTION.format(columns=fill(", ".join(f"`{name}`" for name in BUILT_IN), 120))
    return f"{introduction}\n{limits()}\n## sink.yml\n\n{table(SinkConfig)}"


if __name__ == "__main__":
    sys.stdout.write(page())
