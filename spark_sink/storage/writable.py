"""Refuses tables that demand of a writer what the sink does not do, by the name of what they demand.

deltalake refuses some of them itself, at the first commit. Others it would write to without doing what they demand:
CHECK and NOT NULL are left to who writes the data files, and that is the sink.
"""

from collections.abc import Iterator, Set

from deltalake import DeltaTable

from log_shipper.spark_sink.errors import Refused

# An append meets what these demand. Invariants and constraints are looked at one by one.
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
# A member of a column's metadata -> what it says about the column.
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


# The values of VARIANT are two binary columns to who only copies rows.
_REWRITABLE_FEATURES = WRITABLE_FEATURES | {"variantType", "variantType-preview"}


def check_rewritable(path: str, table: DeltaTable) -> None:
    """Raise Refused where the sink cannot replace files by others that have the same rows. What a table demands of
    its rows, they meet already."""
    if demands := list(_table_demands(table, _REWRITABLE_FEATURES)):
        raise Refused(
            f"the table {path} has {'; '.join(demands)}: the sink cannot compact such a table. Run OPTIMIZE in Spark, "
            "or drop these"
        )


def check_writable(path: str, table: DeltaTable) -> None:
    """Raise Refused where the table has what the sink does not write."""
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
