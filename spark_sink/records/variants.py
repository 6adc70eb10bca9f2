"""SQL expressions over a VARIANT: literals, paths and times."""

KIND_SHOWN = 80  # characters
# Spark has more years than Python and most readers of the table have: a date outside would end the job.
IN_RANGE = "BETWEEN TIMESTAMP'0001-01-01 00:00:00Z' AND TIMESTAMP'9999-12-31 23:59:59.999999Z'"


def sql_literal(value: str) -> str:
    """Return the text as a SQL literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def path_of(name: str, root: str = "$") -> str:
    """Return a SQL literal, the path of a field whose name is joined by dots: `'$["log"]["offset"]'`."""
    return sql_literal(root + "".join(f'["{step}"]' if '"' not in step else f"['{step}']" for step in name.split(".")))


def time_of(text: str) -> str:
    """Return SQL for a time that is given as text; NULL where the text is not a time."""
    # A cast also takes "12:30", as a time of the day of the query: only a date, a T and a time count.
    return f"CASE WHEN substr({text}, 11, 1) IN ('T', ' ') THEN try_cast({text} AS TIMESTAMP) END"
