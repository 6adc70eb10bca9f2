"""How far the sink is, read from its query's checkpoint: the way that needs no word from the sink."""

import json
from pathlib import Path


def committed_offsets(checkpoint: Path, topic: str) -> dict[int, int]:
    """By partition the offset up to which batches are committed; empty before the first one.

    Spark writes `offsets/N` before batch N and `commits/N` after it; the last line of the first has the end offsets.
    """
    done = max((int(path.name) for path in (checkpoint / "commits").glob("*") if path.name.isdigit()), default=None)
    if done is None:
        return {}
    ends = json.loads((checkpoint / "offsets" / str(done)).read_text().splitlines()[-1])
    return {int(partition): offset for partition, offset in ends.get(topic, {}).items()}
