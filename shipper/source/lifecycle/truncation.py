"""What happens to the bytes of a file that was truncated or rewritten while it was read."""

import logging

from shipper.errors import Truncated
from shipper.event import Batch
from shipper.metrics import Metrics
from shipper.source.identity.copy_detector import CopyDetector
from shipper.source.reading.harvester import Harvester

logger = logging.getLogger(__name__)


def last_message(harvester: Harvester, error: Truncated, copies: CopyDetector, metrics: Metrics) -> Batch | None:
    """The message that was pending, as far as it was read, unless a copy of the file has the rest. Counts and tells
    what is lost otherwise."""
    if copies.has_rest(harvester.state, harvester.key, harvester.offset):
        batch, rest = None, "are read from the copy that was made of it"
    else:
        batch, rest = harvester.end_message(), "may be lost"
        metrics.bytes_lost += max(harvester.size - harvester.offset, 0)
    logger.warning(
        "%s (file id %s) was truncated or rewritten: it has %d bytes now; up to %d bytes from offset %d on %s; it "
        "is read again from its start as a new file",
        harvester.state.path,
        harvester.state.id,
        error.size,
        max(harvester.size - harvester.offset, 0),
        harvester.offset,
        rest,
    )
    return batch
