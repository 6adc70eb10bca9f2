"""What the configuration says about rows."""

from log_shipper.config.sink.model import SinkConfig
from log_shipper.spark_sink.records.schema import LINES, Column
from log_shipper.spark_sink.rows.batches import RowOptions


def columns_of(config: SinkConfig) -> tuple[Column, ...]:
    """Return the columns of a table of lines, in its order."""
    own = (Column(column.name, column.type.upper(), column.comment or column.path) for column in config.columns)
    return (*LINES, *own)


def row_options(config: SinkConfig) -> RowOptions:
    """`by_date` is the writer's: it knows by what each table is partitioned."""
    table = config.table
    return RowOptions(table.template, config.columns, table.doc, by_date=False, max_tables=table.max_tables)
