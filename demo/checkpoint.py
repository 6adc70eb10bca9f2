"""The sink's progress according to its checkpoint, independent of its own reports."""

import json
from pathlib import Path


def committed_offsets(checkpoint: Path, topic: str) -> dict[int, int]:
    """Return the end offset of the committed batches by partition; empty before the first batch.

    Spark writes `offsets/N` before batch N and `commits/N` after it; the last line of the first has the end offsets.
    """
    done = max((int(path.name) for path in (checkpoint / "commits").glob("*") if path.name.isdigit()), default=None)
    if done is None:
        return {}
    ends = json.loads((checkpoint / "offsets" / str(done)).read_text().splitlines()[-1])
    return {int(partition): offset for partition, offset in ends.get(topic, {}).items()}
