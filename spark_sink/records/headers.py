"""Records whose value is the message alone: the rest of the line is in their headers.

Such a record becomes the JSON that the shipper would have written otherwise, and all that follows is the same for both.
A header of the place shows that a record is one: `log.file.id`, `log.offset` or `log.length`. Without any of them it is
a record like others, and with a part of them it is bad: its repeats could not be recognised.

No lambda is used on the headers: Spark would no longer compile the stage that parses.
"""

from spark_sink.records.variants import IN_RANGE, KIND_SHOWN, sql_literal, time_of

FILE_ID, OFFSET, LENGTH, TIME = "log.file.id", "log.offset", "log.length", "@timestamp"
FLAGS, PATH, HOST = "log.flags", "log.file.path", "host.name"

_PLACE = (FILE_ID, OFFSET, LENGTH)


def is_text() -> str:
    """Return SQL over `headers`: true if the value of the record is the message alone."""
    return f"coalesce(arrays_overlap(headers.key, array({', '.join(map(sql_literal, _PLACE))})), false)"


def text() -> str:
    """Return SQL over `headers` and `value`: the JSON text of a record."""
    log = (
        f"named_struct('offset', {_whole(OFFSET)}, 'length', {_whole(LENGTH)}, "
        f"'flags', split({_header(FLAGS)}, ','), "
        f"'file', named_struct('path', {_header(PATH)}, 'id', {_header(FILE_ID)}))"
    )
    members = (
        f"'@timestamp', {_header(TIME)}, 'message', CAST(value AS STRING), 'log', {log}, "
        f"'host', named_struct('name', {_header(HOST)})"
    )
    return f"CASE WHEN {is_text()} THEN to_json(named_struct({members})) ELSE CAST(value AS STRING) END"


def reason() -> str:
    """Return SQL over `headers`: why the headers of a text are not those of a line; NULL where they are."""
    return f"""CASE WHEN {is_text()} THEN CASE
        WHEN coalesce({_header(FILE_ID)}, '') = '' THEN {_missing(FILE_ID)}
        {_no_number(OFFSET)}
        {_no_number(LENGTH)}
        WHEN {_header(TIME)} IS NULL THEN {_missing(TIME)}
        WHEN ({time_of(_header(TIME))} {IN_RANGE}) IS NOT TRUE THEN {_wrong(TIME, "an ISO 8601 time")}
        WHEN NOT is_valid_utf8(concat_ws('', {", ".join(map(_header, (FILE_ID, PATH, HOST, FLAGS)))}))
            THEN 'a header is not UTF-8'
    END END"""


def _header(name: str) -> str:
    """Return SQL for the text of the first header of this name; NULL without one."""
    return f"CAST(get(headers.value, CAST(array_position(headers.key, {sql_literal(name)}) AS INT) - 1) AS STRING)"


def _whole(name: str) -> str:
    """Return SQL for the number in a header: digits only, a cast alone would take "1.5" and " 1"."""
    return f"CASE WHEN {_header(name)} RLIKE '^[0-9]+$' THEN try_cast({_header(name)} AS BIGINT) END"


def _no_number(name: str) -> str:
    return (
        f"WHEN {_header(name)} IS NULL THEN {_missing(name)} "
        f"WHEN {_whole(name)} IS NULL THEN {_wrong(name, 'a whole number')}"
    )


def _missing(name: str) -> str:
    return sql_literal(f"no header {name}, without which a repeat of the text could not be recognised")


def _wrong(name: str, wanted: str) -> str:
    return f"concat({sql_literal(f'the header {name} is not {wanted}: ')}, left({_header(name)}, {KIND_SHOWN}))"
