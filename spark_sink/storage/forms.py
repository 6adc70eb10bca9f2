"""The form of a table of lines. An earlier release made `doc` and `fields` VARIANT columns, which few readers know; now
they are JSON in texts. `maintenance.migrate` moves a table from one form to the other."""

from pyspark.sql.types import VariantType

from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import Table, TableSnapshot
from log_shipper.spark_sink.storage.writable import check_writable

MIGRATED_FROM = "spark_sink.migrated_from"  # the property of a copy: the path whose rows it has


def copy_path(path: str) -> str:
    """Return where the rows of a table are while it is migrated."""
    return f"{path.rstrip('/')}_migrated"


def original_path(path: str) -> str:
    """Return where the table is after its migration."""
    return f"{path.rstrip('/')}_before_migration"


def check_form(snapshot: TableSnapshot) -> None:
    """Raise Refused for a table of lines that has an earlier form, or whose migration was not completed."""
    path = snapshot.table.path
    if not snapshot.exists:
        if is_half_swapped(snapshot.table):
            raise Refused(
                f"the table {path} is missing, and {copy_path(path)} has its rows: spark-sink migrate was killed in "
                "its last step. Run it again"
            )
        return
    if columns := _variant_columns(snapshot):
        raise Refused(
            f"the table {path} has the form of an earlier release: {columns} are VARIANT, and the sink writes JSON as "
            "text, which every reader of Delta opens. Run spark-sink migrate, which moves the rows into a table of the "
            "present form at the same path"
        )


def difference(snapshot: TableSnapshot) -> str | None:
    """Return why the sink cannot write to an existing table of lines; None where it can."""
    path = snapshot.table.path
    if columns := _variant_columns(snapshot):
        return f"the table {path} has VARIANT columns ({columns})"
    table = Location(path).open()
    try:
        if table is not None:
            check_writable(path, table)
    except Refused as error:
        return str(error).partition(": ")[0]
    return None


def is_half_swapped(table: Table) -> bool:
    """True if the original was renamed, and its copy was not yet."""
    original, copy = (Table(table.spark, path) for path in (original_path(table.path), copy_path(table.path)))
    return original.exists() and copy.exists() and properties(copy).get(MIGRATED_FROM) == table.path


def properties(table: Table) -> dict[str, str]:
    """Return the properties of an existing table."""
    detail = table.spark.sql(f"DESCRIBE DETAIL {table.name}").select("properties").collect()[0]
    return dict(detail.properties)


def _variant_columns(snapshot: TableSnapshot) -> str:
    return ", ".join(field.name for field in snapshot.delta.schema if isinstance(field.dataType, VariantType))
