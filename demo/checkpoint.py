"""The progress of the sink, read from its query's checkpoint: independent of what the sink itself reports."""

import json
from pathlib import Path


def committed_offsets(checkpoint: Path, topic: str) -> dict[int, int]:
    """Return by partition the offset up to which batches are committed; empty before the first one.

    Spark writes `offsets/N` before batch N and `commits/N` after it; the last line of the first has the end offsets.
    """
    done = max((int(path.name) for path in (checkpoint / "commits").glob("*") if path.name.isdigit()), default=None)
    if done is None:
        return {}
    ends = json.loads((checkpoint / "offsets" / str(done)).read_text().splitlines()[-1])
    return {int(partition): offset for partition, offset in ends.get(topic, {}).items()}
