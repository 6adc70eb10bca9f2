"""Refuses tables with writer requirements that the sink does not meet, and names these requirements.

deltalake refuses some of these tables itself, at the first commit. Others it would write to without enforcing the
requirement: CHECK and NOT NULL are up to the writer of the data files, the sink.
"""

from collections.abc import Iterator, Set

from deltalake import DeltaTable

from log_shipper.spark_sink.errors import Refused

# Features that an append supports. Invariants and constraints are checked one by one.
WRITABLE_FEATURES = {
    "appendOnly",
    "invariants",
    "checkConstraints",
    "generatedColumns",
    "changeDataFeed",
    "deletionVectors",
    "v2Checkpoint",
    "timestampNtz",
}
# A member of a column's metadata -> what it requires.
_COLUMN_DEMANDS = {
    "delta.invariants": "an invariant",
    "delta.generationExpression": "generated values",
    "delta.identity.start": "identity values",
    "delta.columnMapping.physicalName": "another name in the files (column mapping)",
    "CURRENT_DEFAULT": "a default value",
    "__CHAR_VARCHAR_TYPE_STRING": "a maximum length (CHAR or VARCHAR)",
}
_PROPERTIES = {
    "delta.columnMapping.mode": "none",
    "delta.enableInCommitTimestamps": "false",
    "delta.enableRowTracking": "false",
}
_CONSTRAINT = "delta.constraints."


# A copy of rows treats VARIANT as two binary columns.
_REWRITABLE_FEATURES = WRITABLE_FEATURES | {"variantType", "variantType-preview"}


def check_rewritable(path: str, table: DeltaTable) -> None:
    """Raise Refused if the sink cannot rewrite files of the table. Existing rows already meet its constraints."""
    if demands := list(_table_demands(table, _REWRITABLE_FEATURES)):
        raise Refused(
            f"the table {path} has {'; '.join(demands)}: the sink cannot compact such a table. Run OPTIMIZE in Spark, "
            "or drop these"
        )


def check_writable(path: str, table: DeltaTable) -> None:
    """Raise Refused if the table has requirements that the sink does not meet."""
    if demands := list(dict.fromkeys(_demands(table))):
        raise Refused(
            f"the table {path} has {'; '.join(demands)}: the sink cannot write to such a table. Drop these (ALTER "
            "TABLE ... DROP CONSTRAINT, ALTER COLUMN ... DROP NOT NULL, DROP FEATURE), or let the sink create a "
            "table at another path"
        )


def _demands(table: DeltaTable) -> Iterator[str]:
    yield from _table_demands(table, WRITABLE_FEATURES)
    for name in sorted(table.metadata().configuration):
        if name.startswith(_CONSTRAINT):
            yield f"the CHECK constraint {name.removeprefix(_CONSTRAINT)}"
    for column in table.schema().fields:
        if not column.nullable:
            yield f"the column {column.name} with NOT NULL"
        for member, demand in _COLUMN_DEMANDS.items():
            if member in column.metadata:
                yield f"the column {column.name} with {demand}"


def _table_demands(table: DeltaTable, supported: Set[str]) -> Iterator[str]:
    protocol, properties = table.protocol(), table.metadata().configuration
    named = {*(protocol.writer_features or ()), *(protocol.reader_features or ())}
    for feature in sorted(named - supported):
        yield f"the table feature {feature}"
    for name, harmless in _PROPERTIES.items():
        if (value := properties.get(name, harmless)) != harmless:
            yield f"the property {name} = {value}"
