"""What ended a view's query while it ran, in words. What is not of views is translated as everywhere."""

import re

from spark_sink.errors import SinkError, root_cause, translate

# What Spark's text contains -> what it means, and whether the view can only be made again.
MEANINGS: tuple[tuple[str, str, bool], ...] = (
    (
        r"DELTA_SCHEMA_CHANGED",
        "the columns of the table of lines were changed while it ran; start the sink again, the view resumes where it "
        "is",
        False,
    ),
    (
        r"STATE_STORE_\w*SCHEMA_NOT_COMPATIBLE|STATEFUL_OPERATOR_NOT_MATCH",
        "its checkpoint remembers groups or joins of another sql",
        True,
    ),
    (r"DIFFERENT_DELTA_TABLE_READ", "the table of lines was re-created since the view read it", True),
    (
        r"DELTA_LOG_FILE_NOT_FOUND|DELTA_FILE_NOT_FOUND|FILE_NOT_EXIST|FileNotFoundException|deltaVersionsNotContiguous"
        r"|DELTA_VERSIONS_NOT_CONTIGUOUS",
        "it was so far behind that VACUUM or the log's retention has removed what it had not read yet",
        True,
    ),
    (r"DELTA_METADATA_MISMATCH|DELTA_FAILED_TO_MERGE_FIELDS", "its table was changed by another program", True),
)


def translated(text: str, name: str, path: str, ways_out: str) -> SinkError:
    doing = f"the view {name} ({path}) has stopped"
    for pattern, words, again in MEANINGS:
        if re.search(pattern, text):
            return SinkError(f"{doing}: {words}{f'. {ways_out}' if again else ''}: {root_cause(text)}")
    return translate(text, f"{doing}, and resumes there when the sink is started again")
